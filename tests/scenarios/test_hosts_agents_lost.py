"""An agent whose host is lost goes on from its last step on another host."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.postgres import Server
from tests.scenarios.fleet_homes import FleetHome, TestFleet, eventually


def _kill_everything_of(home: FleetHome) -> None:
    """Kill every process of a home: an agent that lives on would start its daemon again."""
    mark = home.home.path.encode()
    pids = [
        int(process.name)
        for process in Path("/proc").glob("[0-9]*")
        if mark in _read(process / "cmdline") + _read(process / "environ")
    ]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _commands(home: FleetHome) -> list[str]:
    """Return the commands that agents have run on a host."""
    tasks = [json.loads(line) for line in home.say("ls", "--all", "--json").splitlines()]
    return [each["command"] for each in tasks if each["kind"] == "shell"]


@pytest.mark.spec("X12", "L3", "L20")
def test_an_agent_goes_on_from_its_last_step_on_another_host(
    tmp_path: Path, postgres: Server, gate: Path
) -> None:
    fleet = TestFleet(tmp_path, postgres)
    fleet.hurry(lease=12.0)
    laptop, big = fleet.add("laptop", "--slots", "0"), fleet.add("big", "--label", "gpu")
    try:
        prompt = f"first `echo marmalade`, then `cat {gate}`"
        task = laptop.say("ask", "--quiet", "--host", "gpu", prompt).split()[-1]
        eventually(lambda: f"cat {gate}" in _commands(big), "its second command")
        eventually(
            lambda: fleet.execute("select 1 from fleet.agent_steps where body like '%marmalade\\\\n%'"),
            "its first step in the fleet",
        )
        small = fleet.add("small", "--label", "gpu")

        _kill_everything_of(big)

        eventually(lambda: laptop.view(task)["runs_on"] == "small", "the other host")
        eventually(lambda: f"cat {gate}" in _commands(small), "its second command there")
        gate.write_text("jam\n")
        assert laptop.wait(task) == 0
        view = laptop.view(task)
        assert (view["state"], view["run_count"]) == ("completed", 1)
        assert "marmalade" in view["answer"]
        assert "jam" in view["answer"]
        # What was done is not done again.
        assert "echo marmalade" not in _commands(small)
        laptop.say("resume", task, "and `echo honey`")
        assert laptop.wait(task) == 0
        assert "honey" in laptop.view(task)["answer"]
        assert laptop.view(task)["runs_on"] == "small"
    finally:
        gate.unlink()
        fleet.close()
