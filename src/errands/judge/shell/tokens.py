"""Tokens: a strict reading of a shell line, word by word, the way bash, dash and zsh all read it.

It knows only what all of them agree on: literal words and their quotes, lists, pipes, redirections, comments.
The first thing beyond that ends the reading with a doubt; nothing is skipped and nothing is guessed.
"""

from __future__ import annotations

import re

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    Kind = Literal["word", "operator", "redirection"]


class Doubt(Exception):  # noqa: N818  # it says what is wrong, as all errors of the model do
    """Something in a line that this reading does not follow, in words a person understands."""


@record
class Token:
    """A word with the text that a program gets, or an operator; `start` and `end` are places in the source.

    `bare` is what stands outside of quotes, with a NUL for each quoted part; `pattern` tells that the word is
    a glob, `home` that it begins with a tilde, which `text` still has. A redirection's descriptor is a token
    of its own.
    """

    kind: Kind
    text: str
    start: int
    end: int
    bare: str = ""
    pattern: bool = False
    home: bool = False

    @property
    def plain(self) -> bool:
        return "\0" not in self.bare


_PLAIN = re.compile(r"[A-Za-z0-9_.,/:=+@%^{}~!#\]*?\[-]+")
_SINGLE = re.compile(r"'([^']*)'")
# A dollar sign is a letter where no shell sees an expansion behind it; regular expressions often end so.
_INSIDE = r"""(?:[^"\\$`]++|\\[\s\S]|\$(?=["\s|)/.,:;&%]))*+"""
_OPENED = re.compile(f'"{_INSIDE}')
_DOUBLE = re.compile(f'"({_INSIDE})"')
_ESCAPED = re.compile(r'\\(?:([$`"\\])|\n)')
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_DESCRIPTOR = re.compile(r"[0-9](?=[<>])")
_REDIRECTIONS = ("&>>", "&>", ">>", ">&", ">", "<&", "<")
_OPERATORS = ("&&", "||", "|", ";", "\n")
_TILDE = re.compile(r"(?:^|[=:])~")
_HOME = re.compile(r"~(?:/|$)")

# What begins here is beyond this reading: the longest come first.
_BEYOND = (
    ("<<<", "a here-string"),
    ("<<", "a here-document"),
    ("<(", "a process substitution"),
    (">(", "a process substitution"),
    ("<>", "a file opened for reading and writing"),
    (">|", "a redirection that overwrites a file"),
    ("((", "arithmetic"),
    ("(", "a subshell, a function or a pattern in parentheses"),
    (")", "a closing parenthesis"),
    (";;", "a case"),
    (";&", "a case"),
    ("|&", "a pipe of both outputs"),
)
_DOLLARS = (
    ("$((", "arithmetic"),
    ("$(", "a command substitution"),
    ("${", "an expansion"),
    ("$'", "a string with escapes ($'...')"),
    ('$"', "a translated string"),
    ("$", "an expansion"),
)


def tokens(source: str) -> Iterator[Token]:
    """Read a line; raise Doubt at the first thing that is not understood."""
    at = 0
    while at < len(source):
        if blank := _BLANK.match(source, at):
            at = blank.end()
            continue
        if source[at] == "#":
            at = _end(_COMMENT, source, at)
            continue
        token = _operator(source, at) or _word(source, at)
        yield token
        at = token.end


def unquoted(source: str) -> Token | None:
    """Read a text that should be exactly one literal word; None if it is anything else."""
    try:
        token = _word(source, 0)
    except Doubt:
        return None
    return token if token.end == len(source) else None


def _operator(source: str, at: int) -> Token | None:
    if descriptor := _DESCRIPTOR.match(source, at):
        return Token(kind="redirection", text=descriptor[0], start=at, end=descriptor.end())
    if source[at] not in "&|;<>()\n":
        return None
    for text, name in _BEYOND:
        if source.startswith(text, at):
            raise Doubt(f"has {name}, which is not followed")
    for text in _REDIRECTIONS:
        if source.startswith(text, at):
            return Token(kind="redirection", text=text, start=at, end=at + len(text))
    for text in _OPERATORS:
        if source.startswith(text, at):
            return Token(kind="operator", text=text, start=at, end=at + len(text))
    raise Doubt("puts a command into the background with &")


def _word(source: str, start: int) -> Token:
    parts: list[str] = []
    bare: list[str] = []  # what stands outside of quotes, with a mark for each quoted part
    at = start
    while at < len(source) and source[at] not in " \t\n|&;()<>":
        if plain := _PLAIN.match(source, at):
            parts.append(plain[0])
            bare.append(plain[0])
            at = plain.end()
            continue
        text, at = _quoted(source, at)
        parts.append(text)
        bare.append("\0")
    text, outside = "".join(parts), "".join(bare)
    if source[at : at + 1] in ("<", ">") and (outside.isdigit() or outside.endswith("}")):
        raise Doubt("opens a file under an unusual descriptor")
    if "{" in outside and ("," in text or ".." in text):
        raise Doubt(f"has braces that may expand: {source[start:at]}")
    if "}" in outside and outside != "}" and outside.count("{") != outside.count("}"):
        raise Doubt(f"has a brace that closes nothing: {source[start:at]}")
    pattern = _is_pattern(outside)
    if pattern and _quotes_pattern(parts, bare):
        raise Doubt(f"has a glob with quoted parts: {source[start:at]}")
    tilde = _TILDE.search(outside)
    home = _HOME.match(outside) is not None
    if tilde and (not home or _TILDE.search(outside, 1)):
        raise Doubt(f"has a tilde that is not followed: {source[start:at]}")
    if outside.startswith("=") and outside != "=":
        raise Doubt(f"has a word that some shells look up as a program: {source[start:at]}")
    return Token(kind="word", text=text, start=start, end=at, bare=outside, pattern=pattern, home=home)


def _quoted(source: str, at: int) -> tuple[str, int]:
    """Give the text of the quoted part that begins here, and the place behind it."""
    letter = source[at]
    if letter == "'" and (single := _SINGLE.match(source, at)):
        return single[1], single.end()
    if letter == '"' and (double := _DOUBLE.match(source, at)):
        return _ESCAPED.sub(lambda found: found[1] or "", double[1]), double.end()
    if letter == "\\" and len(source) > at + 1 and source[at + 1] != "\n":
        return source[at + 1], at + 2
    raise Doubt(_beyond(source, at))


def _beyond(source: str, at: int) -> str:
    match source[at]:
        case "\\":
            return "has a line continued in the middle of a word"
        case "`":
            return "has a command substitution (`...`), which is not followed"
        case "'":
            return "has a quote that is not closed"
        case '"':
            rest = source[_end(_OPENED, source, at) :]
            return _beyond(rest, 0) if rest[:1] in ("$", "`") else "has a quote that is not closed"
        case "$":
            name = next(name for text, name in _DOLLARS if source.startswith(text, at))
            return f"has {name}, which is not followed"
        case letter:
            return f"has {letter!r} outside of quotes"


def _is_pattern(outside: str) -> bool:
    return outside not in ("[", "[[") and any(letter in outside for letter in "*?[")


def _quotes_pattern(parts: list[str], bare: list[str]) -> bool:
    return any(
        letter in part for part, out in zip(parts, bare, strict=True) if out == "\0" for letter in "*?[]\\"
    )


def _end(expression: re.Pattern[str], source: str, at: int) -> int:
    found = expression.match(source, at)
    return found.end() if found else at + 1
