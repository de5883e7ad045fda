"""A database that lost its last commits, and hosts that were out of touch all the while."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import Server, running
from tests.scenarios.fleet_homes import TestFleet, eventually

pytestmark = pytest.mark.spec("X12", "L20")


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as server:
        yield server


def test_a_run_that_the_database_forgot_ends_as_lost(tmp_path: Path, server: Server) -> None:
    fleet = TestFleet(tmp_path, server)
    try:
        laptop, big = fleet.add("laptop", "--slots", "0"), fleet.add("big")
        fleet.execute("update fleet.clock set quiet = '1 s'")
        task = laptop.submit("big", "exec sleep 1000")
        laptop.until(task, "running")
        processes = [laptop.host_process, big.host_process]
        _send(processes, signal.SIGSTOP)
        fleet.execute("delete from fleet.runs")
        server.fork_history()
        fleet.execute("set search_path = fleet_wire; select fleet.settle()")  # as hosts do
        eventually(
            lambda: fleet.execute("select clock_timestamp() > settling_until from fleet.clock")[0][0],
            "the fleet to have settled",
        )
        _send(processes, signal.SIGCONT)

        assert laptop.wait(task) != 0
        assert laptop.view(task)["failure"] == "lost"
        eventually(
            lambda: '"running"' not in big.say("ls", "--all", "--json"), "the end of the run on its host"
        )
    finally:
        fleet.close()


def _send(pids: list[int | None], number: signal.Signals) -> None:
    for pid in pids:
        assert pid is not None
        os.kill(pid, number)
