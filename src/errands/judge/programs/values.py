"""Values: the kinds of what options and operands are given, and what speaks against one.

NUMBER COUNT SIZE     `5`, `-5`, `+5`, `1.5`; also `5k`; also `k` alone
TEXT PATTERN DATE     anything: it is only compared, printed or computed with
FORMAT                a format of git; one that checks signatures runs a program
a|b|c                 one of these words (or NUMBER|a: a number or a word)
READ                  a file whose content is shown
SEARCH                a file or directory whose content is searched
LOOK                  a file or directory of which only names, sizes and dates are shown
INSIDE                a file or directory inside the project
"""

from __future__ import annotations

import re

from errands.judge.programs.places import is_inside, objection_to_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.surroundings import Surroundings

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_COUNT = re.compile(r"[+-]?(0x[0-9a-fA-F]+|\d+(\.\d*)?[A-Za-z]{0,3})")
_SIZE = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)?[A-Za-z]{0,3}")
_SIGNATURE = re.compile(r"%[-+ ]?G|%\(signature")
# Formats that git itself knows; any other name is taken from the configuration.
_FORMATS = frozenset("oneline short medium full fuller reference email mboxrd raw".split())
FREE = frozenset({"TEXT", "PATTERN", "DATE"})
_PLACES = frozenset({"READ", "SEARCH", "LOOK"})


def objection(kind: str, value: str, surroundings: Surroundings) -> tuple[str, str] | None:
    """Say what speaks against a value of this kind, and to which group of reasons that belongs."""
    if kind in FREE:
        return None
    if kind in _PLACES:
        said = objection_to_place(value, kind, surroundings)
        return None if said is None else (said, "secret")
    if kind == "NUMBER":
        return None if _NUMBER.fullmatch(value) else (f"not a number: {value}", "option")
    if kind in ("SIZE", "COUNT"):
        fits = (_SIZE if kind == "SIZE" else _COUNT).fullmatch(value)
        return None if fits else (f"not a number or size: {value}", "option")
    if kind == "FORMAT":
        return _objection_to_format(value)
    if kind == "INSIDE":
        if not is_inside(value, surroundings):
            return f"{value} is outside the project", "script"
        return None
    choices = kind.split("|")
    if value in choices or ("NUMBER" in choices and _NUMBER.fullmatch(value)):
        return None
    return f"unknown value: {value}", "option"


def _objection_to_format(value: str) -> tuple[str, str] | None:
    if _SIGNATURE.search(value):
        return "the format checks signatures, which runs a program", "program"
    if "%" in value or value.startswith(("format:", "tformat:")) or value in _FORMATS or not value:
        return None
    return f"the format {value} stands in the configuration", "option"
