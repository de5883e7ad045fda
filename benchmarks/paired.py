"""Pairs: a small difference, measured on a machine that other work disturbs.

The two sides of a pair are measured right after each other, in alternating order, so that what is slow for a
while is slow for both; the median of many ratios and its bootstrap interval say how sure the difference is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

_RESAMPLES = 2000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Difference:
    """The median of the ratios of pairs, and the interval that holds the true one in 95 of 100 runs."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.3f} ({self.low:.3f} to {self.high:.3f})"


def in_turns(count: int, first: Callable[[], T], second: Callable[[], T]) -> list[tuple[T, T]]:
    """Measure both sides so many times; every other pair begins with the second one."""
    pairs = []
    for number in range(count):
        if number % 2:
            other = second()
            pairs.append((first(), other))
        else:
            one = first()
            pairs.append((one, second()))
    return pairs


def difference(ratios: Sequence[float]) -> Difference:
    chance = random.Random(len(ratios))  # the same figures always have the same interval
    medians = sorted(median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
    return Difference(
        median(ratios), medians[round(0.025 * _RESAMPLES)], medians[round(0.975 * _RESAMPLES) - 1]
    )
