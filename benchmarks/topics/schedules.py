"""Schedules: what a thousand of them cost while nothing is due, and how late a due one starts."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from benchmarks import processes
from benchmarks.bench_home import BenchHome
from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import milliseconds
from errands.model.errors import ErrandsError
from errands.model.options.draft import Draft

_COUNT = 1000
_SETTLE = 2.0  # seconds until a new process is idle
_PATIENCE = 30.0
_LATENESS = 5  # slots that are waited for
# The same schedules in the memory of a process that does nothing else: half of them every so many hours, half
# of them at a minute of a certain day. None is due while it is measured.
_PEER = """
import sys, time
from apscheduler.schedulers.background import BackgroundScheduler
scheduler = BackgroundScheduler(timezone="UTC")
for number in range(int(sys.argv[1])):
    if number % 2:
        scheduler.add_job(print, "interval", hours=24 + number)
    else:
        scheduler.add_job(print, "cron", minute=number % 60, hour=3, day=sys.argv[2])
scheduler.start()
print("ready", flush=True)
time.sleep(3600)
"""


def measure(scale: Scale) -> list[Table]:
    far = str((datetime.now(UTC).day + 13) % 28 + 1)
    with BenchHome(schedules_most=str(_COUNT + 1), daemon_tick="1s") as bench:
        began = time.perf_counter()
        _schedule(bench, far)
        made = time.perf_counter() - began
        daemon = bench.start()
        peer = subprocess.Popen([sys.executable, "-c", _PEER, str(_COUNT), far], stdout=subprocess.PIPE)
        try:
            assert peer.stdout is not None
            peer.stdout.readline()
            time.sleep(_SETTLE)
            ours, theirs = _idle(scale.idle_seconds, bench.supervisors(), [peer.pid])
        finally:
            peer.kill()
            peer.wait()
        late = _lateness(bench, daemon)
    return [
        Table(
            title=f"{_COUNT:,} active schedules, none of them due",
            figures=(
                Figure(
                    what=f"processor time, over {scale.idle_seconds:g} s",
                    value=f"{ours * 1e3:.3f} ms/s",
                    beside=f"APScheduler {version('apscheduler')} {theirs * 1e3:.3f} ms/s",
                    judged=ours * 1e3,
                    bar=Bar(limit=10, aim=1, at_most=True, unit=" ms/s"),
                ),
                Figure(what="making and storing one of them", value=milliseconds(made / _COUNT)),
                Figure(
                    what="one more, every second: from its time to its start",
                    value=late.text(milliseconds),
                    judged=late.middle * 1e3,
                    bar=Bar(limit=100, at_most=True, unit=" ms", is_goal=True),
                ),
            ),
            notes=(
                "10 ms/s are 1 % of a core. Ours are stored, and looked at with everything else every second "
                "here, which is 30 times as often as by default; APScheduler has the same ones in the memory "
                "of a process that does nothing else.",
            ),
        )
    ]


def _schedule(bench: BenchHome, day: str) -> None:
    engine = bench.engine()
    drafts = [
        Draft(command=("true",), every=timedelta(hours=24 + number))
        if number % 2
        else Draft(command=("true",), cron=f"{number % 60} 3 {day} * *", zone="UTC")
        for number in range(_COUNT)
    ]
    for answer in engine.submit_each(drafts):
        if isinstance(answer, ErrandsError):
            raise answer
    engine.close()


def _idle(seconds: float, ours: list[int], theirs: list[int]) -> tuple[float, float]:
    """Return the processor seconds that each takes per second, measured at the same time."""
    before = processes.cpu(ours), processes.cpu(theirs)
    began = time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - began
    return (processes.cpu(ours) - before[0]) / passed, (processes.cpu(theirs) - before[1]) / passed


def _lateness(bench: BenchHome, daemon: int) -> Spread:
    """Return how long after its time each slot of a schedule starts."""
    engine = bench.engine()
    draft = Draft(command=("true",), every=timedelta(seconds=1), max_runs=_LATENESS)
    task = engine.submit(draft)
    deadline = time.monotonic() + _PATIENCE
    while engine.store.view(task.id).state != "done":
        if time.monotonic() > deadline:
            raise TimeoutError(f"the schedule was not run {_LATENESS} times in {_PATIENCE:g} s by {daemon}")
        time.sleep(0.05)
    started = {run.number: run.started_at for run in engine.store.history(task.id)}
    samples = [
        (begun - slot.slot).total_seconds()
        for slot in engine.schedules.ledger(task.id)
        if slot.run is not None and (begun := started[slot.run]) is not None
    ]
    engine.close()
    return Spread(samples)
