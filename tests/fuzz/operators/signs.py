"""Odd characters, and names of programs that only look familiar."""

from __future__ import annotations

import re
from random import Random

from tests.fuzz.words import RESERVED, Simple, simple

BLANKS = "\u00a0\u1680\u2000\u2003\u2007\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u0085"
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"
CONTROLS = "\x00\x01\x07\x08\x0b\x0c\x0e\x1a\x1b\x1f\x7f\x80\x9b\r"
INVISIBLE = "\u00ad\u034f\u115f\u180e\u2061\u2064\u3164\ufe0f\U000e0001\U000e0072"
_CYRILLIC = "\u0430\u0441\u0435\u0456\u043e\u0440\u0455\u0445\u0443\u0458\u04bb\u043a\u043c\u0442"
LOOKALIKES = dict(zip("aceiopsxyjhkmt", _CYRILLIC, strict=True))
_DIRECTORIES = "/bin/ /usr/bin/ //usr/bin/ /usr/./bin/ /usr/local/bin/ ./ ~/ bin/ /tmp/ ../".split()


def path_of_program(text: str, random: Random) -> str | None:
    command = _named(text)
    if command is None or not command.is_started:
        return None
    return _with_program(command, random.choice(_DIRECTORIES) + command.program)


def case(text: str, random: Random) -> str | None:
    command = _named(text)
    if command is None or not command.program[0].islower():
        return None
    return _with_program(command, random.choice((command.program.upper(), command.program.capitalize())))


def lookalike(text: str, random: Random) -> str | None:
    command = _named(text)
    if command is None or not set(command.program) & set(LOOKALIKES):
        return None
    sign = random.choice([sign for sign in command.program if sign in LOOKALIKES])
    return _with_program(command, command.program.replace(sign, LOOKALIKES[sign]))


def invisible(text: str, random: Random) -> str | None:
    if (command := _named(text)) is None:
        return None
    return _with_program(command, _insert(command.program, INVISIBLE + ZERO_WIDTH, random))


def odd_sign(text: str, random: Random) -> str:
    return _insert(text, random.choice((BLANKS, BIDI, ZERO_WIDTH, CONTROLS)), random)


def odd_blank(text: str, random: Random) -> str | None:
    places = [match.start() for match in re.finditer(" ", text)]
    if not places:
        return None
    place = random.choice(places)
    return text[:place] + random.choice(BLANKS) + text[place + 1 :]


def _named(text: str) -> Simple | None:
    """Take a command apart whose program is a bare name."""
    command = simple(text)
    if command is None or command.program in RESERVED or not re.fullmatch(r"[\w.-]+", command.program):
        return None
    return command


def _with_program(command: Simple, program: str) -> str:
    return " ".join([*command.assignments, program, *(word.raw for word in command.words[1:])])


def _insert(text: str, signs: str, random: Random) -> str:
    place = random.choice((0, len(text), random.randint(0, len(text))))
    return text[:place] + random.choice(signs) + text[place:]


SIGNS = (path_of_program, case, lookalike, invisible, odd_sign, odd_blank)
