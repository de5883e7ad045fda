"""The same line, next to a harmless one."""

from __future__ import annotations

import re
from random import Random

from tests.fuzz.words import is_complete, simple

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


def after(text: str, harmless: str, random: Random) -> str | None:
    # In a pipe or behind an `or`, a change of directory would not reach what follows it, and `rg` would only
    # search what it is fed.
    stays = re.search(r"\b(cd|pushd)\b", text) or _program(text) == "rg"
    return harmless + ("; " if stays else random.choice((*_JOINTS, " | # note\n"))) + text


def _program(text: str) -> str | None:
    command = simple(text)
    return command.words[0].value if command and command.words else None


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
    """Return whether a harmless line leaves the text next to it alone."""
    return is_complete(harmless) and not re.search(r"\bcd\b|\bpushd\b|[#\n]|<<", harmless)


JOINS = (after, before, between, far_behind)
