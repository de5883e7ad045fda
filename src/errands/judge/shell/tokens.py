"""Tokens: a strict tokenizer for what bash, dash and zsh read in the same way.

It knows literal words and their quotes, lists, pipes, redirections and comments. Anything else raises a
Doubt: nothing is skipped and nothing is guessed.
"""

from __future__ import annotations

from errands.model.record import record
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Pattern
    from typing import Literal

    Kind = Literal["word", "operator", "redirection"]


class Doubt(Exception):  # noqa: N818  # its name says what is wrong, as those of all errors do
    """Something in a line that is not analysed, in words that a person understands."""


@record
class Token:
    """A word as the program gets it, or an operator; `start` and `end` are offsets in the source.

    `bare` is the unquoted text with a NUL for each quoted part. `pattern` marks a glob, `home` a leading
    tilde, which `text` still has, also for `$HOME`; `status` an exit code, for which `text` has a 0. The
    descriptor of a redirection is a token of its own.
    """

    kind: Kind
    text: str
    start: int
    end: int
    bare: str = ""
    pattern: bool = False
    home: bool = False
    status: bool = False

    @property
    def plain(self) -> bool:
        return "\0" not in self.bare


# Letters of every alphabet, and the signs that mean nothing to a shell, or only in some places.
_PLAIN = regex(r"(?:[A-Za-z0-9_.,/:=+@%^{}~!#\]*?\[-]|[^\W\d_])+")
# A whole word of letters that mean nothing to any shell, wherever they are; most words are like that.
_SIMPLE = regex(r"[A-Za-z0-9_./:+@%,-]+(?=[ \t\n|&;]|\Z)")
_SINGLE = regex(r"'([^']*)'")
# A dollar sign is literal where no shell sees an expansion after it, as at the end of many regular
# expressions.
_INSIDE = r"""(?:[^"\\$`]++|\\[\s\S]|\$\?|\$(?=["\s|)/.,:;&%]))*+"""
_OPENED = regex(f'"{_INSIDE}')
_DOUBLE = regex(f'"({_INSIDE})"')
_ESCAPED = regex(r'\\(?:([$`"\\])|\n)|(\$\?)')
# The exit code of the last command is a number from 0 to 255; any of them will do to judge by.
STATUS, _A_NUMBER = "$?", "0"
_BLANK = regex(r"(?:[ \t]|\\\n)+")
_COMMENT = regex(r"#[^\n]*")
_DESCRIPTOR = regex(r"[0-9](?=[<>])")
REDIRECTIONS = ("&>>", "&>", ">>", ">&", ">", "<&", "<")
# What a program has open anyway, as files: writing there is like `>&1`, `>&2`, or nothing.
STREAMS = ("/dev/null", "/dev/stdout", "/dev/stderr")
OPERATORS = ("&&", "||", "|", ";", "\n")
# `$HOME` at the beginning of a word, where it means the same as a tilde: bare, or in quotes with the rest.
HOMES = ("$HOME", "${HOME}")
_HOME_VARIABLE = regex(r"\$(?:HOME|\{HOME\})(?=[/ \t\n|&;<>]|\Z)")
_HOME_QUOTED = regex(rf'"\$(?:HOME|\{{HOME\}})((?:/{_INSIDE})?)"(?=[/ \t\n|&;<>]|\Z)')
_TILDE = regex(r"(?:^|[=:])~")
_HOME = regex(r"~(?:/|$)")

# What is not analysed, by how it begins; the longest come first.
_UNSUPPORTED = (
    ("<<<", "a here-string"),
    ("<<", "a here-document"),
    ("<(", "a process substitution"),
    (">(", "a process substitution"),
    ("<>", "a file opened for both reading and writing"),
    (">|", "a redirection that overwrites a file"),
    ("((", "arithmetic"),
    ("(", "a subshell, a function or a pattern in parentheses"),
    (")", "a closing parenthesis"),
    (";;", "a case"),
    (";&", "a case"),
    ("|&", "a pipe that includes standard error"),
)
_DOLLARS = (
    ("$((", "arithmetic"),
    ("$(", "a command substitution"),
    ("${", "an expansion"),
    ("$'", "a string with escapes ($'...')"),
    ('$"', "a translated string"),
    ("$", "an expansion"),
)


def tokens(source: str, *, knows_home: bool = False) -> Iterator[Token]:
    """Tokenize a line; raise Doubt at the first thing that is not understood.

    `$HOME` at the beginning of a word is understood only with `knows_home`.
    """
    at = 0
    while at < len(source):
        if blank := _BLANK.match(source, at):
            at = blank.end()
            continue
        if source[at] == "#":
            at = _end(_COMMENT, source, at)
            continue
        token = _operator(source, at) or _word(source, at, knows_home=knows_home)
        yield token
        at = token.end


def unquoted(source: str) -> Token | None:
    """Return the token of a text that is exactly one literal word, else None."""
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
    for text, name in _UNSUPPORTED:
        if source.startswith(text, at):
            raise Doubt(f"has {name}, which is not analysed")
    for text in REDIRECTIONS:
        if source.startswith(text, at):
            return Token(kind="redirection", text=text, start=at, end=at + len(text))
    for text in OPERATORS:
        if source.startswith(text, at):
            return Token(kind="operator", text=text, start=at, end=at + len(text))
    raise Doubt("puts a command into the background with &")


def _word(source: str, start: int, *, knows_home: bool = False) -> Token:
    if simple := _SIMPLE.match(source, start):
        return Token(kind="word", text=simple[0], start=start, end=simple.end(), bare=simple[0])
    parts: list[str] = []
    bare: list[str] = []
    at, status, home = start, False, False
    if knows_home and (variable := _HOME_VARIABLE.match(source, at)):
        parts, bare, at = ["~"], ["~"], variable.end()
    elif knows_home and (quoted := _HOME_QUOTED.match(source, at)):
        parts, bare, at = ["~" + _unescaped(quoted[1])], ["\0"], quoted.end()
        status, home = STATUS in quoted[1], True
    while at < len(source) and source[at] not in " \t\n|&;()<>":
        if plain := _PLAIN.match(source, at):
            parts.append(plain[0])
            bare.append(plain[0])
            at = plain.end()
            continue
        first = at
        text, at = _quoted(source, at)
        status = status or (
            source[first] != "'" and any(each[1] for each in _ESCAPED.findall(source, first, at))
        )
        parts.append(text)
        bare.append("\0")
    text, outside = "".join(parts), "".join(bare)
    if source[at : at + 1] in ("<", ">") and (outside.isdigit() or outside.endswith("}")):
        raise Doubt("opens a file on an unusual descriptor")
    if "{" in outside and ("," in text or ".." in text):
        raise Doubt(f"has braces that may expand: {source[start:at]}")
    if "}" in outside and outside != "}" and outside.count("{") != outside.count("}"):
        raise Doubt(f"has an unmatched closing brace: {source[start:at]}")
    pattern = _is_pattern(outside)
    if pattern and _quotes_pattern(parts, bare):
        raise Doubt(f"has a glob with quoted parts: {source[start:at]}")
    tilde = _TILDE.search(outside)
    home = home or _HOME.match(outside) is not None
    if tilde and (not home or _TILDE.search(outside, 1)):
        raise Doubt(f"has a tilde that is not analysed: {source[start:at]}")
    if outside.startswith("=") and outside != "=":
        raise Doubt(f"has a word that some shells look up as a program: {source[start:at]}")
    return Token(
        kind="word", text=text, start=start, end=at, bare=outside, pattern=pattern, home=home, status=status
    )


def _quoted(source: str, at: int) -> tuple[str, int]:
    """Return the text of the quoted part that begins here, and where it ends."""
    letter = source[at]
    if letter == "'" and (single := _SINGLE.match(source, at)):
        return single[1], single.end()
    if letter == '"' and (double := _DOUBLE.match(source, at)):
        return _unescaped(double[1]), double.end()
    if source.startswith(STATUS, at):
        return _A_NUMBER, at + len(STATUS)
    if letter == "\\" and len(source) > at + 1 and source[at + 1] != "\n":
        return source[at + 1], at + 2
    raise Doubt(_unsupported(source, at))


def _unescaped(text: str) -> str:
    """Return the text in double quotes as the program gets it, with a number for `$?`."""
    return _ESCAPED.sub(lambda found: _A_NUMBER if found[2] else found[1] or "", text)


def _unsupported(source: str, at: int) -> str:
    match source[at]:
        case "\\":
            return "breaks a word across two lines"
        case "`":
            return "has a command substitution (`...`), which is not analysed"
        case "'":
            return "has a quote that is not closed"
        case '"':
            rest = source[_end(_OPENED, source, at) :]
            return _unsupported(rest, 0) if rest[:1] in ("$", "`") else "has a quote that is not closed"
        case "$":
            name = next(name for text, name in _DOLLARS if source.startswith(text, at))
            return f"has {name}, which is not analysed"
        case letter:
            return f"has {letter!r} outside quotes"


def _is_pattern(outside: str) -> bool:
    return outside not in ("[", "[[") and any(letter in outside for letter in "*?[")


def _quotes_pattern(parts: list[str], bare: list[str]) -> bool:
    return any(
        letter in part for part, out in zip(parts, bare, strict=True) if out == "\0" for letter in "*?[]\\"
    )


def _end(expression: Pattern[str], source: str, at: int) -> int:
    found = expression.match(source, at)
    return found.end() if found else at + 1


_UNUSUAL = regex(r"[^\x20-\x7e\n\t]")
_UNSEEN = frozenset("Cc Cf Cs Co Cn Zl Zp Zs".split())
# Letters and marks that show as nothing: fillers, joiners, variation selectors.
_FILLERS = regex(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


# It makes an emoji of the sign before it: `⚠️`, and `3️⃣` with a third character for the key. The letter i, two
# pairs of marks and two dashes of other kinds have such a form, too.
_AS_EMOJI, _KEY = "\ufe0f", "\u20e3"
_KEYS, _ALSO_EMOJI = "0123456789#*", "\u203c\u2049\u2139\u3030\u303d"


def _makes_emoji(text: str, at: int) -> bool:
    """Return whether what is here makes an emoji of the sign before it, which a person sees."""
    import unicodedata

    sign = text[at - 1 : at]
    if text[at] != _AS_EMOJI or not sign:
        return False
    if sign in _KEYS:
        return text[at + 1 : at + 2] == _KEY
    return sign in _ALSO_EMOJI or (not sign.isascii() and unicodedata.category(sign) in ("So", "Sm"))


def hidden_character(text: str) -> str | None:
    """Return the name of the first character that a person would not see, or would take for a plain blank."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return None
    import unicodedata

    for found in _UNUSUAL.finditer(text):
        letter = found[0]
        if _makes_emoji(text, found.start()):
            continue
        if unicodedata.category(letter) in _UNSEEN or _FILLERS.match(letter):
            name = unicodedata.name(letter, "a control character").lower()
            return f"U+{ord(letter):04X} ({name})"
    return None
