"""Throughput: a thousand times `true` to a known exit code, and the processor time each of them took."""

from __future__ import annotations

from benchmarks.burst import Burst, burst
from benchmarks.contenders import NAMES, SLOTS
from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import milliseconds, rate, times

_OURS, _FULL = "errands", "errands full"
_SPEED = (
    (_OURS, "posix_spawn loop", Bar(limit=0.6, aim=0.8)),
    (_OURS, "task-spooler", Bar(limit=1.5, aim=2.5)),
    (_OURS, "huey", Bar(limit=0.9, aim=1.2)),
    (_OURS, "huey fsync=False", Bar(limit=0.9, aim=1.2)),
    (_FULL, "huey fsync=True", Bar(limit=1.1, aim=1.5)),
    (_FULL, "posix_spawn loop", None),
)
_CPU = (
    (_OURS, "posix_spawn loop", Bar(limit=2, at_most=True, is_goal=True)),
    (_OURS, "task-spooler", Bar(limit=0.7, at_most=True, is_goal=True)),
    (_OURS, "huey", None),
    (_OURS, "huey fsync=False", None),
    (_FULL, "huey fsync=True", None),
)


def measure(scale: Scale) -> list[Table]:
    rounds: dict[str, list[Burst]] = {name: [] for name in NAMES}
    order = list(NAMES)
    for _ in range(scale.rounds):
        for name in order:
            rounds[name].append(burst(name, scale.tasks))
        order.append(order.pop(0))  # nobody is always the first, or behind the same one
    speeds = {name: Spread([each.rate for each in bursts]) for name, bursts in rounds.items()}
    costs = {name: Spread([each.cpu / each.count for each in bursts]) for name, bursts in rounds.items()}
    return [
        Table(
            title=f"{scale.tasks:,} x true to a durable exit code, Python API to a separate daemon",
            figures=tuple(
                Figure(
                    what=f"{ours} beside {peer}",
                    value=speeds[ours].text(rate),
                    beside=speeds[peer].text(rate),
                    ratio=(ratios := speeds[ours].over(speeds[peer])).middle,
                    ratio_text=ratios.text(times),
                    bar=bar,
                )
                for ours, peer, bar in _SPEED
            ),
            notes=(
                f"Median of {scale.rounds} interleaved rounds (least to most); {SLOTS} slots each; "
                "a ratio is the median of the ratios of each round.",
                *(f"{name}: {bursts[0].about}." for name, bursts in rounds.items()),
            ),
        ),
        Table(
            title="Processor time per task, of all processes that had a part in it",
            figures=tuple(
                Figure(
                    what=f"{ours} beside {peer}",
                    value=costs[ours].text(milliseconds),
                    beside=costs[peer].text(milliseconds),
                    ratio=(ratios := costs[ours].over(costs[peer])).middle,
                    ratio_text=ratios.text(times),
                    bar=bar,
                )
                for ours, peer, bar in _CPU
            ),
        ),
    ]
