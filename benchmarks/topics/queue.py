"""A long queue: many tasks wait, the daemon is killed and restarted, and they run exactly in order."""

from __future__ import annotations

import asyncio
import signal
import time

import errands
from benchmarks import processes
from benchmarks.bench_home import BenchHome
from benchmarks.command import command, seconds
from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import megabytes, milliseconds, rate
from errands.engine.waiting import wait

_COLD_STARTS = 5


def measure(scale: Scale) -> list[Table]:
    count = scale.queued
    with BenchHome(lanes_shell="0") as bench:
        daemon = bench.start()
        idle = processes.pss([daemon])
        witness = f"{bench.directory}/witness"
        began = time.perf_counter()
        last = asyncio.run(_submit(bench.home.path, witness, count))
        submitting = time.perf_counter() - began
        queued = processes.pss([daemon])
        listing = Spread([seconds(command("errands ls")) for _ in range(_COLD_STARTS)])

        bench.stop(signal.SIGKILL)
        bench.set(lanes_shell="1")
        began = time.perf_counter()
        daemon = bench.start()
        ready = time.perf_counter() - began
        engine = bench.engine()
        wait(engine, [last])
        draining = time.perf_counter() - began
        engine.store.close()
        drained = processes.pss([daemon])
        with open(witness, encoding="ascii") as file:
            order = [int(line) for line in file]
    return [
        Table(
            title=f"{count:,} queued tasks",
            figures=(
                Figure(
                    what="in the order of their submission, lane of one",
                    value=_told(order, count),
                    judged=float(order == list(range(count))),
                    bar=Bar(limit=1, unit=" (exact)"),
                ),
                Figure(
                    what="kill -9 of the daemon, restart to ready",
                    value=milliseconds(ready),
                    judged=ready,
                    bar=Bar(limit=2, at_most=True, unit=" s"),
                ),
                Figure(
                    what="PSS of the daemon with all queued",
                    value=megabytes(queued),
                    beside=f"idle {megabytes(idle)}, at the end {megabytes(drained)}",
                    ratio=queued / idle,
                    judged=queued / 1e6,
                    bar=Bar(limit=25, at_most=True, unit=" MB", is_goal=True),
                ),
                Figure(what="submitted one by one", value=rate(count / submitting)),
                Figure(what="run one after the other, from the restart", value=rate(count / draining)),
                Figure(what="errands ls with all queued", value=listing.text(milliseconds)),
            ),
        )
    ]


async def _submit(home: str, witness: str, count: int) -> str:
    """Submit tasks that write their number; return the id of the last."""
    async with errands.connect(home, embedded=False, yes=True) as engine:
        for number in range(count):
            view = await engine.submit(("sh", "-c", f"echo {number} >> {witness}"))
        return view.id


def _told(order: list[int], count: int) -> str:
    if order == list(range(count)):
        return f"all {count:,}"
    early = next((place for place, number in enumerate(order) if place != number), len(order))
    return f"{len(order):,} ran, place {early:,} is wrong"
