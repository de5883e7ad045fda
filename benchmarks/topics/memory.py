"""Memory and idleness: what the daemon costs while nothing happens, and what every running task adds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import errands
from benchmarks import processes
from benchmarks.bench_home import BenchHome
from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.table import Table
from benchmarks.units import megabytes

_PATIENCE = 60.0
_READING = ("sleep", "600")
_APPROVED = ("sh", "-c", 'exec sleep "${NEVER_SET:-600}"')  # the judge does not follow the expansion


def measure(scale: Scale) -> list[Table]:
    with BenchHome(lanes_shell=str(scale.sleeps)) as bench:
        bench.start()
        asyncio.run(_warm_up(bench))
        idle = _idle(bench)
        idle_pss, idle_rss = processes.pss(idle), processes.rss(idle)
        before, began = processes.cpu(idle), time.monotonic()
        time.sleep(scale.idle_seconds)
        idle_cpu = (processes.cpu(idle) - before) / (time.monotonic() - began)
        busy_pss, busy_rss = asyncio.run(_busy(bench, _READING, scale.sleeps))
        _idle(bench)
        approved_pss, approved_rss = asyncio.run(_busy(bench, _APPROVED, scale.sleeps))
    per_task = (busy_pss - idle_pss) / scale.sleeps
    return [
        Table(
            title="Memory and idleness",
            figures=(
                Figure(
                    what=f"PSS per running task, {scale.sleeps} x sleep",
                    value=megabytes(per_task),
                    beside=f"RSS {megabytes((busy_rss - idle_rss) / scale.sleeps)}",
                    judged=per_task / 1e6,
                    bar=Bar(limit=1, at_most=True, unit=" MB"),
                ),
                Figure(
                    what="the same, approved, without walls",
                    value=megabytes((approved_pss - idle_pss) / scale.sleeps),
                    beside=f"RSS {megabytes((approved_rss - idle_rss) / scale.sleeps)}",
                ),
                Figure(
                    what="PSS of the idle daemon and its zygote",
                    value=megabytes(idle_pss),
                    beside=f"RSS {megabytes(idle_rss)}",
                    judged=idle_pss / 1e6,
                    bar=Bar(limit=25, at_most=True, unit=" MB"),
                ),
                Figure(
                    what=f"processor time while idle, over {scale.idle_seconds:g} s",
                    value=f"{idle_cpu * 1e3:.3f} ms/s",
                    judged=idle_cpu * 1e3,
                    bar=Bar(limit=1, at_most=True, unit=" ms/s", is_goal=True),
                ),
            ),
            notes=(
                "The tasks' own processes are not counted. PSS divides pages among all who share them, this "
                "measuring process included; RSS counts them again for every process and is the upper limit.",
            ),
        )
    ]


def _idle(bench: BenchHome) -> list[int]:
    """Wait until only the daemon and its zygote are left; return them."""
    _wait_for(lambda: len(bench.supervisors()) == 2, "idle shims to leave")
    return bench.supervisors()


async def _warm_up(bench: BenchHome) -> None:
    """Let the daemon do each thing once, so that it is idle and not merely new."""
    async with errands.connect(bench.home.path, embedded=False, yes=True) as engine:
        await engine.wait_all([(await engine.submit(("echo", "ready"))).id for _ in range(8)])


async def _busy(bench: BenchHome, words: tuple[str, ...], count: int) -> tuple[int, int]:
    """Measure with a number of tasks running."""
    async with errands.connect(bench.home.path, embedded=False, yes=True) as engine:
        ids = [(await engine.submit(words)).id for _ in range(count)]
        _wait_for(lambda: len(bench.supervisors()) == count + 2, "all tasks to run")
        time.sleep(1.0)
        ours = bench.supervisors()
        found = processes.pss(ours), processes.rss(ours)
        await engine.cancel(*ids)
        await engine.wait_all(ids)
        return found


def _wait_for(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {_PATIENCE:g} s in vain for {what}")
        time.sleep(0.1)
