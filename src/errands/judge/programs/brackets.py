"""Bracket sets of regular expressions (`[a-z]`), where programs disagree about what ends the expression."""

from __future__ import annotations

import re

_BEGIN = re.compile(r"\[\^?\]?")
_CLASS = re.compile(r"\[([:.=])[A-Za-z0-9]*\1\]")


def end_of_set(text: str, place: int, delimiter: str) -> int | None:
    """Return where the set ends that begins here; None if programs may read it differently.

    To some programs a delimiter inside a set ends the expression, to others it does not. The same is true of
    a bracket behind a backslash.
    """
    begin = _BEGIN.match(text, place)
    if begin is None:
        return None
    at = begin.end()
    while at < len(text):
        letter = text[at]
        if letter == "]":
            return at + 1
        if letter in (delimiter, "\n"):
            return None
        if letter == "\\":
            if text[at + 1 : at + 2] in ("", "]", "[", "\\", "\n"):
                return None
            at += 2
        elif letter == "[" and text[at + 1 : at + 2] in (":", ".", "="):
            named = _CLASS.match(text, at)
            if named is None:
                return None
            at = named.end()
        else:
            at += 1
    return None
