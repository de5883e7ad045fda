"""Walls: what it costs to hold a command to reading, and to run it in a sandbox.

The same program is run free, behind the walls of what only reads, and in the sandbox of the project's own
work, in turn; what is compared is the time from the submit until a waiter knows the end. Beside it stands
bubblewrap alone, with the namespaces of a sandbox and one mount: what no sandbox is faster than.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time

import errands
from benchmarks.bench_home import BenchHome
from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import milliseconds
from errands.engine.async_engine import AsyncEngine
from errands.engine.walls.bubblewrap import NAMESPACES, bubblewrap, obstacle

_TITLE = "Walls"
_PROGRAM = "/bin/true"
_ALONE = ("--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", _PROGRAM)


def measure(scale: Scale) -> list[Table]:
    if why := obstacle():
        return [Table(title=_TITLE, figures=(), notes=(f"not measured: {why}",))]
    samples = asyncio.run(_samples(scale.latency_samples))
    reading, contained = _more(samples, "auto", "free"), _more(samples, "contained", "free")
    alone = _more(samples, "bubblewrap", "bare")
    return [
        Table(
            title=_TITLE,
            figures=(
                Figure(
                    what="more for what only reads (`auto`)",
                    value=_both(reading),
                    judged=reading.middle * 1e3,
                    bar=Bar(limit=0.3, at_most=True, unit=" ms", is_goal=True),
                ),
                Figure(
                    what="more for the project's own work (`contained`)",
                    value=_both(contained),
                    beside=f"bubblewrap alone {_both(alone)}",
                    ratio=contained.middle / alone.middle,
                    judged=contained.middle * 1e3,
                    bar=Bar(limit=10, at_most=True, unit=" ms", is_goal=True),
                ),
            ),
            notes=(
                f"{scale.latency_samples} interleaved rounds, p50 / p99 of the difference to the program "
                f"when it runs free in the same round ({milliseconds(Spread(samples['free']).middle)}).",
            ),
        )
    ]


def _more(samples: dict[str, list[float]], name: str, than: str) -> Spread:
    return Spread([one - other for one, other in zip(samples[name], samples[than], strict=True)])


def _both(spread: Spread) -> str:
    return f"{milliseconds(spread.middle)} / {milliseconds(spread.percentile(99))}"


async def _samples(count: int) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {
        name: [] for name in ("free", "auto", "contained", "bare", "bubblewrap")
    }
    project = tempfile.mkdtemp()
    with BenchHome() as bench:
        bench.start()
        async with (
            errands.connect(bench.home.path, embedded=False, yes=True) as free,
            errands.connect(bench.home.path, embedded=False, yes=False) as held,
        ):
            runs = {
                "free": (free, (_PROGRAM,), "contained"),
                "auto": (held, (os.path.basename(_PROGRAM),), "auto"),
                "contained": (held, (_PROGRAM,), "contained"),
            }
            for number in range(-5, count):
                for name, (engine, words, verdict) in runs.items():
                    took = await _one(engine, words, project, verdict)
                    if number >= 0:  # the first ones only warm everything up
                        samples[name].append(took)
                for name, alone in {"bare": [_PROGRAM], "bubblewrap": _bubblewrap()}.items():
                    before = time.perf_counter()
                    subprocess.run(alone, check=True)
                    if number >= 0:
                        samples[name].append(time.perf_counter() - before)
    return samples


async def _one(engine: AsyncEngine, words: tuple[str, ...], project: str, verdict: str) -> float:
    before = time.perf_counter()
    view = await engine.submit(words, cwd=project)
    view = await engine.wait(view.id)
    took = time.perf_counter() - before
    assert (view.state, view.verdict) == ("completed", verdict), (words, view.state, view.verdict)
    return took


def _bubblewrap() -> list[str]:
    return [bubblewrap(), *NAMESPACES, *_ALONE]
