"""A figure: one measurement, what it is compared with, and whether it is good enough.

Ratios outlive the machine they were measured on, so bars are set for them wherever there is something to
compare with. A bar that is missed fails the run; a goal that is missed is only reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["", "ok", "ok, aim reached", "below bar", "misses the goal", "not measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A limit that a number must reach, or with `at_most` must not exceed."""

    limit: float
    aim: float | None = None
    at_most: bool = False
    unit: str = "x"
    is_goal: bool = False

    def is_met(self, number: float, limit: float) -> bool:
        return number <= limit if self.at_most else number >= limit

    def verdict(self, number: float | None) -> Verdict:
        if number is None:
            return "not measured"
        if not self.is_met(number, self.limit):
            return "misses the goal" if self.is_goal else "below bar"
        if self.aim is not None and self.is_met(number, self.aim):
            return "ok, aim reached"
        return "ok"

    def __str__(self) -> str:
        sign = "≤" if self.at_most else "≥"
        kind = "goal " if self.is_goal else ""
        aim = "" if self.aim is None else f", aim {self.aim:g}{self.unit}"
        return f"{kind}{sign} {self.limit:g}{self.unit}{aim}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`judged` is the number the bar is for, the ratio unless it is given."""

    what: str
    value: str
    beside: str = ""
    ratio: float | None = None
    ratio_text: str = ""
    judged: float | None = None
    bar: Bar | None = None

    @property
    def verdict(self) -> Verdict:
        if self.bar is None:
            return ""
        return self.bar.verdict(self.ratio if self.judged is None else self.judged)

    @property
    def is_missed(self) -> bool:
        return self.verdict in ("below bar", "not measured")

    def cells(self) -> tuple[str, ...]:
        ratio = self.ratio_text or ("" if self.ratio is None else f"{self.ratio:.2f}")
        return (self.what, self.value, self.beside, ratio, str(self.bar or ""), self.verdict)
