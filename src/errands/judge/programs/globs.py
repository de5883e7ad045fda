"""Globs: words that the shell still expands, and whether two patterns could match the same name."""

from __future__ import annotations

from functools import lru_cache

from errands.model.text.regex import regex

WILDCARDS = "*?["
_ANY, _ONE = "*", "?"


class Glob(str):
    """A word with an unquoted wildcard, as written.

    It becomes any number of words, all of which begin with its `prefix`. A plain `str` is literal.
    """

    __slots__ = ()

    @property
    def prefix(self) -> str:
        """The text before the first wildcard."""
        ends = [place for place in map(self.find, WILDCARDS) if place >= 0]
        return self[: min(ends)] if ends else str(self)


@lru_cache(maxsize=4096)
def may_match(name: str, pattern: str) -> bool:
    """Return whether some name matches both; either may be plain, or a glob with `*`, `?` and sets.

    A wildcard at the start of `name`, which the shell expands, never matches a leading dot. A set (`[a-z]`)
    counts as anything, so the answer may be a wrong yes but never a wrong no.
    """
    if name[:1] in ("*", "?", "[") and pattern[:1] == ".":
        return False
    return _meet(_tokens(name), _tokens(pattern))


@lru_cache(maxsize=1024)
def may_match_plain(name: str, pattern: str) -> bool:
    """Return whether a plain name matches a glob; wildcards in the name are literal."""
    return _meet("".join(" " if mark in "*?" else mark for mark in name), _tokens(pattern))


# A set that every shell and program reads in the same way.
_PLAIN_SET = regex(r"\[[!^]?[A-Za-z0-9_.,-]+\]")


def _tokens(text: str) -> str:
    """Return a pattern without sets: a plain one is any letter, the others are anything."""
    if "[" not in text:
        return text
    text = _PLAIN_SET.sub(_ONE, text)
    start, end = text.find("["), text.rfind("]")
    return text if start < 0 or end < start else f"{text[:start]}{_ANY}{text[end + 1 :]}"


def _meet(one: str, other: str) -> bool:
    # Most pairs differ in plain letters at one of their ends.
    if _differ(one, other) or _differ(one[::-1], other[::-1]):
        return False
    # Row by row: which prefixes of `other` can match the part of `one` read so far.
    row = [True]
    for mark in other:
        row.append(row[-1] and mark == _ANY)
    for mark in one:
        above, row = row, [row[0] and mark == _ANY]
        for place, wanted in enumerate(other, start=1):
            if mark == _ANY or wanted == _ANY:
                # A star matches nothing, or one more character of the other side.
                met = above[place] or row[place - 1] or above[place - 1]
            else:
                met = above[place - 1] and (mark in (wanted, _ONE) or wanted == _ONE)
            row.append(met)
    return row[-1]


def _differ(one: str, other: str) -> bool:
    """Return whether two patterns differ before the first wildcard of either."""
    for mark, wanted in zip(one, other, strict=False):
        if mark != wanted or mark in (_ANY, _ONE):
            return mark not in (_ANY, _ONE) and wanted not in (_ANY, _ONE)
    return False
