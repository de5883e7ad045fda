"""The scale: how much there is in a line, so that judging it takes a moment whatever it says."""

from __future__ import annotations

from errands.judge.programs.globs import WILDCARDS, Glob
from errands.model.verdict import Reason

_HEAVIEST = 500  # everyday lines weigh 50
TOO_HEAVY = (Reason(text="has more words and patterns than are analysed", kind="size"),)


class Scale:
    """What the words of a line weigh together: how long it takes to judge them."""

    __slots__ = ("weight",)

    def __init__(self) -> None:
        self.weight = 0

    def takes(self, texts: tuple[str, ...]) -> bool:
        """Add the words of a command; return whether they can still be judged in a moment."""
        self.weight += sum(map(_weight, texts))
        return self.weight <= _HEAVIEST


def _weight(text: str) -> int:
    signs = sum(map(text.count, WILDCARDS))
    if isinstance(text, Glob):
        return 20 * signs  # it is compared with the names of all secrets
    return 8 + 4 * text.count(",") if signs and "{" in text else 8 if signs else 1
