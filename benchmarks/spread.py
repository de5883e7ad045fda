"""A spread: many measurements of one thing, told as a middle and how far they lie apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median


class Spread:
    def __init__(self, samples: Sequence[float]) -> None:
        if not samples:
            raise ValueError("nothing was measured")
        self.samples = tuple(samples)

    @property
    def middle(self) -> float:
        return median(self.samples)

    def percentile(self, percent: float) -> float:
        """The smallest sample that so many percent do not exceed; no sample is made up."""
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, max(0, -int(-len(ordered) * percent // 100) - 1))]

    def over(self, other: Spread) -> Spread:
        """Divide round by round: what disturbed one round disturbed both."""
        return Spread([ours / theirs for ours, theirs in zip(self.samples, other.samples, strict=True)])

    def text(self, write: Callable[[float], str]) -> str:
        """Write the middle and, where there is more than one sample, the least and the most."""
        if len(self.samples) == 1:
            return write(self.middle)
        return f"{write(self.middle)} ({write(min(self.samples))} to {write(max(self.samples))})"
