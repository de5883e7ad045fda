"""The same line beside a harmless one, and harmless lines with something added that is not."""

from __future__ import annotations

import re
from random import Random

from tests.risk.operators.constructs import background, write
from tests.risk.operators.signs import odd_sign
from tests.risk.words import is_complete, simple

_JOINTS = (
    " && ",
    " || ",
    "; ",
    ";",
    "&&",
    "||",
    " | ",
    "|",
    " |& ",
    "\n",
    " & ",
    " &\n",
    " &&\n",
    " # note\n",
)
_ENDS = "sh|bash|bash -s|tee out|xargs rm|xargs touch|xargs -n1 sh -c|python3|perl|sponge x|dd of=x|sort -o x"
_WORDS = (
    "$(rm x)",
    "`rm x`",
    "<(rm x)",
    ">(rm x)",
    "$x",
    '"$x"',
    "${x}",
    "$((x))",
    "${x:=y}",
    '"$(rm x)"',
    "$@",
)


def after(text: str, harmless: str, random: Random) -> str | None:
    # In a pipe or behind an `or`, a change of directory would not reach what follows it.
    joint = "; " if re.search(r"\b(cd|pushd)\b", text) else random.choice((*_JOINTS, " | # note\n"))
    return harmless + joint + text


def before(text: str, harmless: str, random: Random) -> str | None:
    return text + random.choice(_JOINTS) + harmless if is_complete(text) and "#" not in text else None


def between(text: str, harmless: str, random: Random) -> str | None:
    if not is_complete(text) or "#" in text:
        return None
    joint = random.choice((" && ", "; ", "\n", " || "))
    return harmless + joint + text + joint + harmless


def far_behind(text: str, harmless: str, random: Random) -> str | None:
    start = (harmless + " " * 2500 + "; ", f"{harmless}; " * 30, "\n" * 300, f"# {'x' * 3000}\n", " " * 3000)
    return random.choice(start) + text


def can_be_beside(harmless: str) -> bool:
    """Tell whether a harmless line neither moves, comments out nor swallows what stands beside it."""
    return is_complete(harmless) and not re.search(r"\bcd\b|\bpushd\b|[#\n]|<<", harmless)


def spoil_by_sign(text: str, random: Random) -> str | None:
    return odd_sign(text, random)


def spoil_by_writing(text: str, random: Random) -> str | None:
    return write(text, random)


def spoil_by_background(text: str, random: Random) -> str | None:
    return background(text, random)


def spoil_by_pipe(text: str, random: Random) -> str | None:
    return f"{text} | {random.choice(_ENDS.split('|'))}"


def spoil_by_word(text: str, random: Random) -> str | None:
    return f"{text} {random.choice(_WORDS)}" if simple(text) is not None else None


JOINS = (after, before, between, far_behind)
SPOILS = (spoil_by_sign, spoil_by_writing, spoil_by_background, spoil_by_pipe, spoil_by_word)
