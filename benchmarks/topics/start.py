"""Cold start: how long a person waits for a command, beside a Python that does nothing."""

from __future__ import annotations

from benchmarks.bench_home import BenchHome
from benchmarks.command import command, seconds
from benchmarks.contenders import SLOTS
from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import milliseconds, times

_NOTHING = "python -c pass"
_LS, _RUN = "errands ls", "errands run -- echo hello"
_BARS = {
    _LS: Bar(limit=3, aim=2, at_most=True),
    _RUN: Bar(limit=5, at_most=True),  # it judges the command first
}


def measure(scale: Scale) -> list[Table]:
    samples: dict[str, list[float]] = {line: [] for line in (_NOTHING, *_BARS)}
    with BenchHome(lanes_shell=str(SLOTS)) as bench:
        bench.start()
        for _ in range(25):  # so that there is something to list
            seconds(command(_RUN))
        for _ in range(scale.starts):
            for line, taken in samples.items():
                taken.append(seconds(command(line)))
    spreads = {line: Spread(taken) for line, taken in samples.items()}
    nothing = spreads[_NOTHING]
    return [
        Table(
            title="Cold start of a command",
            figures=tuple(
                Figure(
                    what=line,
                    value=spreads[line].text(milliseconds),
                    beside=f"{_NOTHING} {nothing.text(milliseconds)}",
                    ratio=(ratios := spreads[line].over(nothing)).middle,
                    ratio_text=ratios.text(times),
                    bar=bar,
                )
                for line, bar in _BARS.items()
            ),
            notes=(
                f"Median of {scale.starts} interleaved starts, all from the same virtual environment, with a "
                "configuration file in place.",
            ),
        )
    ]
