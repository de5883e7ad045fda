"""The report: what was done to the engine over all rounds, and the results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.chaos.violation import Violation


@dataclass
class Report:
    """`kept` names the directories of failed rounds by their seeds."""

    seeds: list[int] = field(default_factory=list)
    tasks: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    notices: int = 0
    kills: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    recoveries: list[float] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)
    slowest: float = 0.0
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)
    kept: dict[int, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.seeds += other.seeds
        self.tasks += other.tasks
        self.runs += other.runs
        self.notices += other.notices
        self.kills += other.kills
        self.counts += other.counts
        self.recoveries += other.recoveries
        self.settled += other.settled
        self.slowest = max(self.slowest, other.slowest)
        self.seconds += other.seconds
        self.violations += other.violations
        self.kept |= other.kept

    def line(self) -> str:
        """Return the summary line of one round."""
        ends = ", ".join(f"{count} {state}" for state, count in sorted(self.runs.items()))
        verdict = f"{len(self.violations)} BREAKS" if self.violations else "good"
        head = (
            f"seed {self.seeds[0]}: {verdict}; {self.tasks} tasks, {self.kills} kills, {self.seconds:.1f} s"
        )
        return f"{head}; {ends}"

    def text(self) -> str:
        """Return the whole report as text."""
        lines = [
            f"seeds            {_seeds(self.seeds)}",
            f"tasks            {self.tasks}, with {sum(self.runs.values())} runs",
            *(f"  {state:<30}{count:>7}" for state, count in sorted(self.runs.items())),
            f"notices          {self.notices}",
            f"kills            {self.kills}",
            *(f"  {kind:<40}{count:>7}" for kind, count in sorted(self.counts.items())),
            f"worst recovery   {max(self.recoveries, default=0):.2f} s from a daemon's start to its answer",
            f"worst settling   {max(self.settled, default=0):.2f} s from the last fault to the last end",
            f"slowest look     {self.slowest:.3f} s for a list of all tasks",
            f"time             {self.seconds:.0f} s",
            *(f"SKIPPED          {reason}" for reason in self.skipped),
            f"violated invariants {len(self.violations)}",
            *(f"  {each}" for each in self.violations[:200]),
            *(f"kept             seed {seed}: {path}" for seed, path in self.kept.items()),
        ]
        return "\n".join(lines)


def _seeds(seeds: list[int]) -> str:
    if len(seeds) > 2 and seeds == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    return " ".join(map(str, seeds))
