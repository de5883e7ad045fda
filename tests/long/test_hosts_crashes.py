"""Processes of a fleet that are killed: what was placed is lost by none of it, unless its host is."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from errands.runners.system import linux
from tests.postgres import DURABLE, Server, running
from tests.scenarios.fleet_homes import FleetHome, TestFleet, eventually, is_running

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


def test_a_lost_host_is_given_up_and_only_what_may_run_again_does(
    tmp_path: Path, postgres: Server, gate: Path
) -> None:
    fleet = TestFleet(tmp_path, postgres)
    fleet.hurry(lease=12.0)
    laptop, big = fleet.add("laptop", "--slots", "0"), fleet.add("big", "--label", "gpu")
    try:
        sleeping = f"8{os.getpid()}"
        task = laptop.submit("gpu", f"echo up; sleep {sleeping}")
        line = f"echo $ERRANDS_HOME >> {gate}.count; echo on; read x < {gate}; exit 6"
        other = laptop.submit("gpu", line, "--on-loss", "again")
        for each in (task, other):
            laptop.until(each, "running")
        eventually(lambda: is_running(sleeping), "the command")
        eventually(lambda: laptop.say("logs", task) == "up\n", "its output")
        eventually(Path(f"{gate}.count").exists, "the start of the other one")
        small = fleet.add("small", "--label", "gpu")

        big.kill_all()

        assert laptop.wait(task) == 125
        view = laptop.view(task)
        assert (view["state"], view["failure"]) == ("failed", "lost")
        assert laptop.say("logs", task) == "up\n"
        assert not is_running(sleeping)
        eventually(lambda: laptop.view(other)["runs_on"] == "small", "the other host")
        gate.write_text("\n")
        assert laptop.wait(other) == 6
        assert Path(f"{gate}.count").read_text() == f"{big.home.path}\n{small.home.path}\n"
        big.start()  # what it still knows about them is refused
        eventually(lambda: not os.listdir(big.home.guests), "the end of what it noted")
        view = laptop.view(other)
        assert (view["exit_code"], view["runs_on"], view["run_count"]) == (6, "small", 1)
        assert laptop.say("logs", other) == "on\n"
        assert [(each["run"], each["host"]) for each in view["lost_hosts"]] == [(1, "big")]
        assert re.search("began again +from its beginning, because big was lost", laptop.say("show", other))
    finally:
        fleet.close()
