"""A spread: many measurements of one thing, shown as their median and range."""

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
        """Return the smallest sample that the given percentage does not exceed, without interpolation."""
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, max(0, -int(-len(ordered) * percent // 100) - 1))]

    def over(self, other: Spread) -> Spread:
        """Divide round by round, because a disturbance affects both sides of a round."""
        return Spread([ours / theirs for ours, theirs in zip(self.samples, other.samples, strict=True)])

    def text(self, write: Callable[[float], str]) -> str:
        """Return the median and, with more than one sample, the minimum and maximum."""
        if len(self.samples) == 1:
            return write(self.middle)
        return f"{write(self.middle)} ({write(min(self.samples))} to {write(max(self.samples))})"
