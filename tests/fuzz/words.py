"""The words of a simple command, and other spellings of the same words.

Only what is certain is taken apart: a line with operators, substitutions, comments or odd characters has no
words here. A word has a value only when the shell leaves it as it is.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from random import Random

# What follows one of these is not simply its arguments, and a quoted one is no longer what it was.
RESERVED = frozenset(
    "! [[ { } case coproc do done elif else esac fi for function if in select then time until while".split()
)
# No program of that name is started by a shell; a wrapper would look for one, and find none or another.
BUILTINS = frozenset(
    """. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs
    disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout
    mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times
    trap true type typeset ulimit umask unalias unset wait""".split()
)
_OPERATORS = frozenset(";&|<>()\n")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=")


@dataclass(frozen=True, slots=True)
class Word:
    raw: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: assignments, then the program and its arguments."""

    assignments: tuple[str, ...]
    words: tuple[Word, ...]

    @property
    def program(self) -> str:
        return self.words[0].value or ""

    @property
    def is_started(self) -> bool:
        """Return whether it starts a program, so that a wrapper could start the same one."""
        return not self.assignments and self.program not in BUILTINS and self.words[0].raw not in RESERVED

    @property
    def raws(self) -> tuple[str, ...]:
        return (*self.assignments, *(word.raw for word in self.words))


def simple(line: str) -> Simple | None:
    """Take a line apart if it is one simple command, written in printable ASCII."""
    raws = _raws(line)
    if not raws:
        return None
    count = next((n for n, raw in enumerate(raws) if not _ASSIGNMENT.match(raw)), len(raws))
    if count == len(raws):
        return None
    return Simple(tuple(raws[:count]), tuple(Word(raw, _value(raw)) for raw in raws[count:]))


def plain(line: str) -> Simple | None:
    """Take a line apart if it is one simple command whose words need no quotes at all."""
    command = simple(line)
    if command is None or command.assignments or command.program in RESERVED:
        return None
    return command if all(re.fullmatch(r"[\w./-]+", word.raw) for word in command.words) else None


def is_complete(text: str) -> bool:
    """Return whether text after this one stays separate from it."""
    if re.search(r"(&&|\|\|?|\\)\s*$|<<(?!<)", text):
        return False
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


def _raws(line: str) -> list[str] | None:
    """Cut a line at its unquoted blanks; None as soon as there is more in it than words."""
    if not line.isascii() or not line.replace("\n", "").isprintable() or re.search(r"[`]|\$[({\[\"]", line):
        return None
    raws: list[str] = []
    raw, place = "", 0
    while place < len(line):
        sign = line[place]
        if sign in "'\"" or line.startswith("$'", place):
            end = _end_of_quote(line, place)
            if end is None:
                return None
            raw += line[place:end]
            place = end
        elif sign == "\\":
            if place + 1 == len(line) or line[place + 1] == "\n":
                return None
            raw += line[place : place + 2]
            place += 2
        elif sign == " ":
            raws += [raw] if raw else []
            raw, place = "", place + 1
        elif sign in _OPERATORS or (sign == "#" and not raw):
            return None
        else:
            raw += sign
            place += 1
    return [*raws, raw] if raw else raws


def _end_of_quote(line: str, place: int) -> int | None:
    pattern = {"'": r"'[^']*'", '"': r'"(?:[^"\\]|\\.)*"', "$": r"\$'(?:[^'\\]|\\.)*'"}[line[place]]
    match = re.compile(pattern, re.DOTALL).match(line, place)
    return match.end() if match else None


def _value(raw: str) -> str | None:
    """Remove the quotes; None if the shell would or might expand something."""
    if "$" in re.sub(r"'[^']*'", "", raw):
        return None
    bare = re.sub(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.""", "", raw, flags=re.DOTALL)
    if raw.startswith("~") or re.search(r"[*?\[{!]|[=:]~", bare):
        return raw if raw in {"{}", "[", "!"} else None
    pieces = re.findall(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^'"\\]+)""", raw, flags=re.DOTALL)
    return "".join(
        single or re.sub(r'\\([$`"\\])', r"\1", double) or escaped or plain
        for single, double, escaped, plain in pieces
    )


def respell(value: str, random: Random) -> str:
    """Write a word so that the shell reads the same value, in pieces with different quotes."""
    spelled, place = "", 0
    while place < len(value):
        size = random.choice((1, 1, 2, 3, 5, 8))
        piece = value[place : place + size]
        spelled += random.choice((_bare, _single, _double, _ansi))(piece, random)
        spelled += random.choice(("", "", "", "", "''", '""', "$''", "\\\n"))
        place += size
    return spelled or random.choice(("''", '""', "$''"))


def _bare(piece: str, random: Random) -> str:
    if "\n" in piece:
        return _single(piece, random)
    return "".join(sign if sign.isalnum() and random.random() < 0.7 else f"\\{sign}" for sign in piece)


def _single(piece: str, random: Random) -> str:
    return "'" + piece.replace("'", "'\\''") + "'"


def _double(piece: str, random: Random) -> str:
    return '"' + re.sub(r'([$`"\\])', r"\\\1", piece) + '"'


def _ansi(piece: str, random: Random) -> str:
    def spell(sign: str) -> str:
        ways = [f"\\x{ord(sign):02x}", f"\\{ord(sign):03o}", f"\\u{ord(sign):04x}", f"\\U{ord(sign):08x}"]
        if sign.isalnum():
            ways += [sign] * 4
        return random.choice(ways)

    return "$'" + "".join(map(spell, piece)) + "'"


def quoted(text: str, random: Random) -> str:
    """Write a whole text as one word."""
    ways = [_single, _double]
    if text.isascii() and text.replace("\n", "").isprintable():
        ways += [_ansi]
    return random.choice(ways)(text, random)
