"""A host that is lost with what it ran: the fleet waits for its lease to end, and gives it up."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from tests.postgres import Server
from tests.scenarios.conftest import gate
from tests.scenarios.fleet_homes import TestFleet, eventually, is_running

__all__ = ["gate"]
pytestmark = pytest.mark.spec("X12", "L20")


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
        with sqlite3.connect(laptop.home.store) as store:
            lost = store.execute("select run, detail from events where name = 'its host was lost'").fetchall()
        assert lost == [(1, "big")]
    finally:
        fleet.close()
