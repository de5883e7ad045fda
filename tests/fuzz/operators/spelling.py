"""The same words, spelled differently."""

from __future__ import annotations

import re
from random import Random

from tests.fuzz.words import BUILTINS, RESERVED, plain, respell, simple

_GAPS = ("\t", "  ", " \t ", " \\\n", "\\\n ", " \\\n\\\n\t", " " * 40, " " * 400, "\t" * 9)
_HARMFUL = (
    "output|in-place|compress-program|open-files-in-pager|upload-pack|checkpoint-action|split-string|basetemp"
)


def requote(text: str, random: Random) -> str | None:
    if (command := simple(text)) is None:
        return None
    kept = command.program in RESERVED or random.random() < 0.3
    words = [
        word.raw if word.value is None or (n == 0 and kept) else respell(word.value, random)
        for n, word in enumerate(command.words)
    ]
    return " ".join([*command.assignments, *words])


def blanks(text: str, random: Random) -> str | None:
    if (command := simple(text)) is None:
        return None
    first, *rest = command.raws
    before = random.choice(("", " ", "\t", "\n", "\\\n"))
    behind = random.choice(("", " ", "\t", "\n", " \n\t"))
    return before + first + "".join(random.choice(_GAPS) + word for word in rest) + behind


def braces(text: str, random: Random) -> str | None:
    command = plain(text)
    if command is None or len(command.words) < 2 or command.program in BUILTINS:
        return None
    return "{" + ",".join(command.raws) + "}"


def variables(text: str, random: Random) -> str | None:
    if (command := plain(text)) is None:
        return None
    first, rest = command.program, " ".join(command.raws[1:])
    ways = (
        f"c={first}; $c {rest}",
        f'set -- {text}; "$@"',
        f'a=({text}); "${{a[@]}}"',
        f"${{x-{first}}} {rest}",
        f"$(echo {first}) {rest}",
        f"`printf {first}` {rest}",
        f"{first}$x {rest}",
        f'"{first}$@" {rest}',
    )
    return random.choice(ways)


def abbreviate(text: str, random: Random) -> str | None:
    """Abbreviate a harmful option, which the program may still understand."""
    match = re.search(rf"--({_HARMFUL})\b", text)
    if match is None:
        return None
    shorter = match[1][: random.randint(3, len(match[1]) - 1)]
    return f"{text[: match.start()]}--{shorter}{text[match.end() :]}"


SPELLING = (requote, blanks, braces, variables, abbreviate)
