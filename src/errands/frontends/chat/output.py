"""Output: where the chat writes. Whole lines are final; the unfinished one may still change."""

from __future__ import annotations

import sys
from typing import Protocol

from errands.text import Look


class Output(Protocol):
    @property
    def look(self) -> Look: ...

    def lines(self, *lines: str) -> None:
        """Write whole lines, above the input line."""

    def unfinished(self, text: str) -> None:
        """Show the last line so far; it is written with `lines` when it is complete."""


class PlainOutput:
    """Standard output without a terminal: whole lines only."""

    def __init__(self, look: Look) -> None:
        self.look = look

    def lines(self, *lines: str) -> None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()

    def unfinished(self, text: str) -> None:
        pass
