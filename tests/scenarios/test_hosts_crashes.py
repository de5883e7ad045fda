"""Processes of a fleet that are killed: what was placed is lost by none of it, unless its host is."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from errands.runners.system import linux
from tests.postgres import DURABLE, running
from tests.scenarios.fleet_homes import FleetHome, TestFleet, eventually

pytestmark = pytest.mark.spec("X12", "L20")


def placed(laptop: FleetHome, gate: Path) -> str:
    """Start a task on the other host that counts its starts, and wait until it runs there."""
    line = f"echo once >> {gate}.count; echo up; read x < {gate}; seq 1 2000; exit 7"
    task = laptop.submit("big", line)
    laptop.until(task, "running")
    eventually(lambda: Path(f"{gate}.count").exists(), "its start")
    return task


def check(laptop: FleetHome, task: str, gate: Path) -> None:
    """Let the task go on, and check that it ended as if nothing had happened."""
    gate.write_text("\n")
    assert laptop.wait(task) == 7
    assert laptop.say("logs", task) == "up\n" + "".join(f"{n}\n" for n in range(1, 2001))
    assert Path(f"{gate}.count").read_text() == "once\n"
    assert laptop.view(task)["runs_on"] == "big"


def test_the_host_processes_of_both_sides_are_killed(laptop: FleetHome, big: FleetHome, gate: Path) -> None:
    task = placed(laptop, gate)

    big.kill_host_process()
    laptop.kill_host_process()

    check(laptop, task, gate)


def test_the_daemons_of_both_sides_are_killed(laptop: FleetHome, big: FleetHome, gate: Path) -> None:
    task = placed(laptop, gate)

    big.kill_daemon()
    laptop.kill_daemon()
    big.start()
    laptop.start()

    check(laptop, task, gate)


def test_a_daemon_is_replaced_while_its_host_runs_something(
    laptop: FleetHome, big: FleetHome, gate: Path
) -> None:
    task = placed(laptop, gate)

    big.stop()
    big.start()

    check(laptop, task, gate)


@pytest.mark.spec("N5")
def test_a_result_waits_for_a_laptop_that_is_asleep_and_is_reported_once(
    laptop: FleetHome, big: FleetHome, fleet: TestFleet, gate: Path
) -> None:
    task = placed(laptop, gate)
    laptop.notices()
    laptop.kill_all()

    gate.write_text("\n")
    eventually(
        lambda: fleet.execute(f"select 1 from fleet.runs where task = '{task}' and state = 'ended'"),
        "the end on its host",
    )
    laptop.start()

    view = laptop.until(task, "failed")
    assert view["exit_code"] == 7
    assert [(each["run_id"], each["event"]) for each in laptop.notices()] == [(f"{task}.1", "failed")]
    laptop.kill_host_process()
    eventually(
        lambda: fleet.execute(f"select 1 from fleet.runs where task = '{task}' and acked"),
        "the acknowledgement",
    )
    assert laptop.notices() == []


def test_the_server_of_the_fleet_is_restarted(tmp_path: Path, gate: Path) -> None:
    with running(settings=DURABLE) as server:
        fleet = TestFleet(tmp_path, server)
        laptop, big = fleet.add("laptop", "--slots", "0"), fleet.add("big")
        processes = [laptop.host_process, big.host_process]
        try:
            task = placed(laptop, gate)

            server.restart("crash")

            check(laptop, task, gate)
            again = laptop.submit("big", "exit 5")
            assert laptop.wait(again) == 5
            assert [laptop.host_process, big.host_process] == processes

            # Without a server to say goodbye to, a host process still ends when it is asked to.
            server.stop()
            first = big.host_process
            assert first is not None
            os.kill(first, signal.SIGTERM)
            eventually(lambda: not linux.is_alive(first), "the end of the host process")
            server.start()
        finally:
            fleet.close()
