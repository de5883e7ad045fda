"""Cases: the commands of a burst, the same for every contender.

The commands of a burst are numbered, because the commands that people run differ from each other: nothing
that was worked out for one of them can be reused for the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    title: str
    words: Callable[[int], Words]
    output: Callable[[int], str]
    needs_approval: bool = False

    def commands(self, count: int) -> list[Words]:
        return [self.words(number) for number in range(count)]


CASES = {
    "line": Case(
        title="a command that prints a line",
        words=lambda number: ("echo", f"line {number}"),
        output=lambda number: f"line {number}\n",
    ),
    "shell": Case(
        title="an approved shell line",
        # The expansion is what it needs approval for: the judge does not follow it.
        words=lambda number: ("sh", "-c", f'echo "line {number} of ${{HOME:+a}} script"; exit 0'),
        output=lambda number: f"line {number} of a script\n",
        needs_approval=True,
    ),
    "true": Case(
        title="true, which prints nothing", words=lambda number: ("true",), output=lambda number: ""
    ),
}
