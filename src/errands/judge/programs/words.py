"""Words: what a program is given, one by one, after the shell has read the line.

A plain `str` is literal. A `Glob` is a word the shell still expands, into any number of words that begin with
the text before its first wildcard.
"""

from __future__ import annotations

WILDCARDS = "*?["


class Glob(str):
    """A word with an unquoted wildcard, as it is written."""

    __slots__ = ()

    @property
    def prefix(self) -> str:
        """The text with which every word it becomes begins."""
        ends = [place for place in (self.find(mark) for mark in WILDCARDS) if place >= 0]
        return self[: min(ends)] if ends else str(self)


def shown(words: tuple[str, ...] | list[str], *, longest: int = 80) -> str:
    """Join words for a sentence, shortened to what a person reads."""
    text = " ".join(words)
    return text if len(text) <= longest else text[: longest - 1] + "…"
