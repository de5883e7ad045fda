"""Patterns: whether a search finds lines as in files with secrets, in the dialect that its program reads.

A pattern is translated into one of Python, as far as it surely means the same. Whatever is not known, or not
valid in Python, counts as a match: programs also accept what Python refuses or reads otherwise, such as
`\\<`, `\\pL`, and `b+?` of `grep -E`, with which they show every line.
"""

from __future__ import annotations

import re
import warnings

from errands.judge.programs.matching import TooLongError, finds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    # `grep`; `grep -E`; `grep -P`; `rg`; and any with `-F`.
    Dialect = Literal["basic", "extended", "perl", "rust", "fixed"]

_LONGEST = 200
_WIDE = re.MULTILINE | re.DOTALL  # a text of several lines is searched as by `rg -U`
_CLASSES = {
    "alpha": "A-Za-z", "digit": "0-9", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "print": r"\x20-\x7e", "graph": r"\x21-\x7e",
    "xdigit": "0-9A-Fa-f", "cntrl": r"\x00-\x1f", "word": r"\w",
}  # fmt: skip
_CLASS = re.compile(r"\[:(\w+):\]")
# The pieces of a pattern. In sets of POSIX a backslash is an ordinary letter; those of `rg` may be nested.
_REST = r"|(?P<sign>[(){}|+?*^$.])|(?P<plain>.)"
_POSIX = re.compile(r"(?s)\\(?P<escape>.)|(?P<set>\[\^?\]?(?:\[:\w+:\]|[^\][]|\[(?![:.=]))*\])" + _REST)
_PERL = re.compile(
    r"(?s)(?P<kind>\\[pP](?:\w|\{[\w^=&. -]+\}))|\\(?P<escape>.)"
    r"|(?P<set>\[\^?\]?(?:\[:\w+:\]|\\[^\w]|\\[wWsSdDnrtfv]|[^\][\\]|\[(?![:.=]))*\])" + _REST
)
_OPERATORS = frozenset("(){}|+?")
_QUANTIFIERS = frozenset("*+?}")
# With these a pattern matches less when a part of it matches more.
_NARROWS = re.compile(r"\(\?<?!")
_BEGINNINGS = frozenset(("", "(", "|", "^"))
_SAME = frozenset("wWsSbB123456789")
_CONTROL = frozenset("nrtfvadD")
_BOUNDARIES = {"<": r"\b", ">": r"\b", "`": r"\A", "'": r"\Z"}
# What no program accepts.
_INVALID = ("missing )", "unbalanced parenthesis", "unterminated character set")
_OPTIONS = re.compile(r"\(\?[A-Za-z-]*x")  # from there on blanks mean nothing


def matches(pattern: str, dialect: Dialect, texts: Sequence[str]) -> bool:
    """Return whether a pattern may match one of these texts.

    Each line of it is a pattern of its own, except in `rg`, which reads them all as one: `[<newline>A-Z]`.
    """
    if dialect != "fixed" and len(pattern) > _LONGEST:
        return True
    parts = [pattern, *pattern.split("\n")]
    if dialect == "fixed" or (pattern.isascii() and pattern.isalnum()):
        return any(part.casefold() in text.casefold() for part in parts for text in texts)
    return any(_may_match(part, dialect, texts) for part in parts)


def _may_match(pattern: str, dialect: Dialect, texts: Sequence[str]) -> bool:
    translated = _translated(pattern, dialect)
    if translated is None:
        return True
    try:
        with warnings.catch_warnings(action="ignore"):  # of sets that Python may read otherwise one day
            # Without its case, `[^a-z]` matches less.
            return any(finds(translated, _WIDE | flags, texts) for flags in (re.IGNORECASE, re.NOFLAG))
    except re.error as error:
        return not error.msg.startswith(_INVALID)
    except (RecursionError, OverflowError, TooLongError):
        return True


def _translated(pattern: str, dialect: Dialect) -> str | None:
    """Translate a pattern into one of Python that matches at least the same; None if it is not understood."""
    is_posix = dialect in ("basic", "extended")
    if not is_posix and ("\\b{" in pattern.casefold() or _OPTIONS.search(pattern)):
        return None
    parts = [""]
    for found in (_POSIX if is_posix else _PERL).finditer(pattern):
        text = found[0]
        match found.lastgroup:
            case "kind":
                # A kind of letters may be any.
                part: str | None = None if _NARROWS.search(pattern) else "."
            case "escape":
                part = _posix_escape(text[1], dialect) if is_posix else _perl_escape(text[1], dialect)
            case "set":
                part = _set(text, dialect)
            case "sign" if dialect == "basic":
                part = _basic_sign(text, parts[-1])
            case "sign" if dialect == "extended":
                part = _extended_sign(text, parts)
            case "sign":
                part = text
            case _ if text == "[":
                part = None if "]" in pattern[found.end() :] else text
            case _:
                part = None if text == "\\" else re.escape(text)
        if part is None or (parts[-1] in _QUANTIFIERS and _is_quantified_again(part, dialect)):
            return None
        if dialect == "basic" and parts[-1] in _BEGINNINGS and part in _QUANTIFIERS:
            return None
        parts.append(part)
    return "".join(parts)


def _is_quantified_again(part: str, dialect: Dialect) -> bool:
    """Return whether this after `*` makes it lazy or possessive in Python, and something else there."""
    return (part == "+" and dialect != "perl") or (part == "?" and dialect in ("basic", "extended"))


def _basic_sign(sign: str, before: str) -> str:
    is_first = before in _BEGINNINGS
    if sign in _OPERATORS or (sign == "*" and is_first):
        return f"\\{sign}"
    if sign == "$" or (sign == "^" and not is_first):
        return rf"(?:{sign}|\{sign})"  # in the middle they are letters
    return sign


def _extended_sign(sign: str, parts: list[str]) -> str:
    """Translate a sign after others: without something to repeat a quantifier means nothing."""
    if sign in "*+?" and parts[-1] in _BEGINNINGS:
        if parts[-1] == "^":
            parts[-1] = ""
        return ""
    # A parenthesis that closes nothing is a letter.
    return r"\)" if sign == ")" and parts.count(")") >= parts.count("(") else sign


def _posix_escape(letter: str, dialect: Dialect) -> str | None:
    if dialect == "basic" and letter in _OPERATORS:
        return letter
    if letter in _BOUNDARIES:
        return _BOUNDARIES[letter]
    if letter in _SAME:
        return f"\\{letter}"
    if letter in _CONTROL:
        return rf"(?:\{letter}|{letter})"  # to most programs just the letter
    return None if letter.isalnum() else re.escape(letter)


def _perl_escape(letter: str, dialect: Dialect) -> str | None:
    if letter in _SAME or letter in _CONTROL or letter in "AZxuU":
        return f"\\{letter}"
    if letter == "z":
        return r"\Z"
    if letter in "<>" and dialect == "rust":
        return rf"(?:\b|{letter})"
    return None if letter.isalnum() else re.escape(letter)


def _set(text: str, dialect: Dialect) -> str | None:
    """Translate a set, such as `[^[:alpha:]_]`."""
    inner = _CLASS.sub("", text)[1:-1]
    if any(name not in _CLASSES for name in _CLASS.findall(text)):
        return None
    if dialect == "rust" and any(each in inner for each in ("[", "&&", "--", "~~")):
        return None
    if dialect in ("basic", "extended"):
        text = text.replace("\\", "\\\\")
    return _CLASS.sub(lambda found: _CLASSES[found[1]], text)
