"""Homes of a fleet: how fast they do short commands, how far behind output is, what a killed host leaves."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.contenders.fleet_worker import SLOTS
from benchmarks.queues import HOSTS
from errands.bootstrap import open_engine
from errands.model.options.draft import Draft
from errands.model.record import evolve
from tests.postgres import Server
from tests.scenarios.fleet_homes import FleetHome, TestFleet, eventually, is_running

LAST = 8 << 10  # bytes of output that must be there after a host was killed
_PRINT = """\
import time
for n in range({count}):
    print(n, time.time(), "{pad}", flush=True)
    time.sleep(0.05)
"""


def carried_out(server: Server, count: int, folder: Path, *, warm: int) -> float:
    """Return how many `true` per second two hosts carry out for a home that submits them all at once.

    Before that they carry out a few, one after the other.
    """
    fleet = TestFleet(folder, server)
    try:
        laptop = fleet.add("laptop", "--slots", "0")
        for n in range(HOSTS):
            fleet.add(f"host{n}", "--label", "quick", "--slots", str(SLOTS))
        with closing(open_engine(laptop.home)) as engine:
            drafts = [Draft(command=("true",), name=f"n{n}", host="quick") for n in range(count)]
            for _ in range(warm):
                first = engine.submit(evolve(drafts[0], name="first"))
                eventually(partial(engine.has_ended, first.id), "the first to have ended")
            began = datetime.now(UTC)
            engine.submit_all(drafts)
            eventually(lambda: engine.store.counts()["completed"] == warm + count, "all to have ended")
            # As this home has noted it: the look for it may come 50 ms later.
            last = max(each.at for each in engine.store.ended_runs(since=began, name=None, limit=count))
            return count / (last - began).total_seconds()
    finally:
        fleet.close()


def followed(server: Server, lines: int) -> list[float]:
    """Return how long each line takes from its host to `errands logs -f` in a home that has no part in it."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = TestFleet(Path(folder), server)
        try:
            laptop = fleet.add("laptop", "--slots", "0")
            fleet.add("gpu", "--slots", "2")
            desk = fleet.add("desk", "--slots", "0")
            task = _submit(laptop, count=lines + 20)
            # No other home knows it before it is offered.
            eventually(lambda: task in desk.say("ls", "--fleet"), "its offer")
            behind = []
            with subprocess.Popen(
                desk.words("logs", "-f", task), env=desk.environ, stdout=subprocess.PIPE, text=True
            ) as following:
                assert following.stdout is not None
                for line in following.stdout:
                    now, words = time.time(), line.split()
                    if len(words) >= 2 and words[0].isdecimal() and int(words[0]) >= 20:
                        behind.append(now - float(words[1]))
            assert len(behind) == lines, f"{len(behind)} of {lines} lines"
            return behind
        finally:
            fleet.close()


def left_of_a_killed_host(server: Server) -> float:
    """Return how old the newest line that another home has of a host is when the host is killed."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = TestFleet(Path(folder), server)
        try:
            laptop = fleet.add("laptop", "--slots", "0")
            gpu = fleet.add("gpu", "--slots", "2")
            task = _submit(laptop, count=2000, pad="x" * 200)
            eventually(lambda: len(laptop.say("logs", task)) > 2 * LAST, "output")
            gpu.kill_all()
            killed = time.time()
            eventually(lambda: not is_running(_marker(folder)), "its fuse to end the command")
            lines = laptop.say("logs", task)[-LAST:].splitlines()[1:]
            found = [line.split() for line in lines if line.endswith("x")]
            numbers = [int(words[0]) for words in found]
            assert numbers == [*range(numbers[0], numbers[-1] + 1)], "there is a gap in the last 8 KiB"
            assert sum(map(len, lines)) > LAST * 0.9
            return killed - float(found[-1][1])
        finally:
            fleet.close()


def _submit(home: FleetHome, *, count: int, pad: str = "") -> str:
    program = home.work / "print.py"
    program.write_text(_PRINT.format(count=count, pad=pad))
    marker = _marker(str(home.work.parent))
    return home.submit("gpu", f"exec {sys.executable} {program} {marker}")


def _marker(folder: str) -> str:
    return f"prints-for-{Path(folder).name}"
