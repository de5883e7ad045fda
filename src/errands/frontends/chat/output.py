"""Paper: where the chat writes. Whole lines are there for good; the one that is being said may change."""

from __future__ import annotations

import sys
from typing import Protocol

from errands.text import Look


class Output(Protocol):
    @property
    def look(self) -> Look: ...

    def lines(self, *lines: str) -> None:
        """Write lines, above whatever is being typed."""

    def unfinished(self, words: str) -> None:
        """Show the line that is being said, up to here; it is written when it is whole."""


class PlainOutput:
    """Standard output, for whoever has no terminal."""

    def __init__(self, look: Look) -> None:
        self.look = look

    def lines(self, *lines: str) -> None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()

    def unfinished(self, words: str) -> None:
        """A line is written when it is whole."""
