"""Throughput: many commands to a known exit code and a log, and the processor time each of them took."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.burst import PARTS, Burst, burst
from benchmarks.cases import CASES
from benchmarks.contenders import SLOTS
from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import milliseconds, rate, times

_OURS, _FULL = "errands", "errands full"
_LOOP, _SPOOLER, _HUEY = "posix_spawn loop", "task-spooler", "huey"
_FAST_HUEY, _SAFE_HUEY = "huey fsync=False", "huey fsync=True"


@dataclass(frozen=True, slots=True)
class _Pair:
    ours: str
    peer: str
    speed: Bar | None = None
    cpu: Bar | None = None


_JUDGED = (
    _Pair(_OURS, _LOOP, Bar(limit=0.5, aim=0.65), Bar(limit=2, at_most=True, is_goal=True)),
    _Pair(_OURS, _SPOOLER, Bar(limit=1.25, aim=1.6), Bar(limit=0.7, at_most=True, is_goal=True)),
    _Pair(_OURS, _HUEY, Bar(limit=0.9, aim=1.2)),
)
_PAIRS = {
    "line": (
        *_JUDGED,
        _Pair(_OURS, _FAST_HUEY),
        _Pair(_FULL, _SAFE_HUEY),
        _Pair(_FULL, _LOOP),
    ),
    "shell": _JUDGED,
    "true": tuple(_Pair(pair.ours, pair.peer) for pair in _JUDGED),
}


def measure(scale: Scale) -> list[Table]:
    bursts: dict[tuple[str, str], list[Burst]] = {
        (case, name): []
        for case, pairs in _PAIRS.items()
        for pair in pairs
        for name in (pair.ours, pair.peer)
    }
    order = list(bursts)
    for _ in range(scale.bursts):
        for case, name in order:
            bursts[case, name].append(burst(name, case, scale.tasks))
        order.append(order.pop(0))  # no contender is always the first, or always behind the same one
    return [table for case in _PAIRS for table in _tables(case, bursts, scale)]


def _tables(case: str, bursts: dict[tuple[str, str], list[Burst]], scale: Scale) -> list[Table]:
    rounds = {name: each for (which, name), each in bursts.items() if which == case}
    speeds = {name: Spread([each.rate for each in found]) for name, found in rounds.items()}
    costs = {name: Spread([each.cpu / each.count for each in found]) for name, found in rounds.items()}
    return [
        Table(
            title=f"{scale.tasks:,} x {CASES[case].title}, Python API to a separate daemon",
            figures=tuple(
                Figure(
                    what=f"{pair.ours} beside {pair.peer}",
                    value=speeds[pair.ours].text(rate),
                    beside=speeds[pair.peer].text(rate),
                    ratio=(ratios := speeds[pair.ours].over(speeds[pair.peer])).middle,
                    ratio_text=ratios.text(times),
                    bar=pair.speed,
                )
                for pair in _PAIRS[case]
            ),
            notes=(
                f"Median of {scale.bursts} interleaved rounds (least to most); {SLOTS} slots each; "
                "a ratio is the median of the ratios of each round.",
                *(f"{name}: {found[0].about}." for name, found in rounds.items()),
            ),
        ),
        Table(
            title=f"Processor time per task of all processes involved: {CASES[case].title}",
            figures=tuple(
                Figure(
                    what=f"{pair.ours} beside {pair.peer}",
                    value=costs[pair.ours].text(milliseconds),
                    beside=costs[pair.peer].text(milliseconds),
                    ratio=(ratios := costs[pair.ours].over(costs[pair.peer])).middle,
                    ratio_text=ratios.text(times),
                    bar=pair.cpu,
                )
                for pair in _PAIRS[case]
            ),
            notes=(f"{_OURS}: {', '.join(_shares(rounds[_OURS]))}.",),
        ),
    ]


def _shares(bursts: list[Burst]) -> list[str]:
    """Say how much of a task's processor time each part of it takes."""
    taken = [Spread([burst.shares[at] / burst.count for burst in bursts]) for at in range(len(PARTS))]
    return [f"{part} {milliseconds(each.middle)}" for part, each in zip(PARTS, taken, strict=True)]
