"""What a person does with a task on another host while it runs: send it input, pause it, let it go on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.scenarios.fleet_homes import FleetHome, TestFleet, eventually

pytestmark = pytest.mark.spec("X12")


def state_of(marker: str) -> str:
    """Return the state of the process with this text in its command line, as the kernel names it."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep\0" + marker.encode()):
                return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        except OSError:
            continue
    return ""


@pytest.fixture(scope="module")
def desk(fleet: TestFleet, laptop: FleetHome, big: FleetHome) -> FleetHome:
    """A third home, which neither has the tasks nor runs them."""
    return fleet.add("desk", "--slots", "0")


@pytest.mark.spec("L24")
def test_input_reaches_the_task_in_order_and_once_whatever_dies(laptop: FleetHome, big: FleetHome) -> None:
    task = laptop.submit("big", "echo ready; cat", "--stdin")
    laptop.until(task, "running")

    laptop.say("send", task, "one")
    big.kill_host_process()
    laptop.say("send", task, "two")
    laptop.kill_host_process()
    laptop.say("send", "--eof", task, "three")

    assert laptop.wait(task) == 0
    assert laptop.say("logs", task) == "ready\none\ntwo\nthree\n"
    over = laptop.run("send", task, "four")
    assert over.returncode != 0
    assert "is completed; input can only be sent to a running task" in over.stderr


@pytest.mark.spec("L24")
def test_a_terminal_on_another_host(laptop: FleetHome, big: FleetHome) -> None:
    task = laptop.submit("big", "test -t 0 && echo ready; read name; echo hello $name", "--pty")
    laptop.until(task, "running")

    laptop.say("send", task, "ada")

    assert laptop.wait(task) == 0
    assert "hello ada" in laptop.say("logs", task)


@pytest.mark.spec("L24")
def test_what_takes_no_input_says_so(laptop: FleetHome, big: FleetHome) -> None:
    task = laptop.submit("big", "sleep 600")
    laptop.until(task, "running")
    refused = laptop.run("send", task, "hello")
    laptop.say("cancel", task)
    assert "the run was started without input; start it with --stdin or --pty" in refused.stderr


@pytest.mark.spec("L24")
def test_what_is_typed_at_home_is_read_there(laptop: FleetHome, big: FleetHome) -> None:
    words = laptop.words("run", "--yes", "--host", "big", "--stdin", "--wait", "--", "sh", "-c", "wc -c")
    done = subprocess.run(
        words, input=b"x" * 600_000, env=laptop.environ, cwd=laptop.work, capture_output=True, timeout=120
    )
    assert (done.returncode, done.stdout.split()[-1]) == (0, b"600000"), done.stderr


@pytest.mark.spec("L28")
def test_a_task_is_paused_on_its_host_and_goes_on(laptop: FleetHome, big: FleetHome) -> None:
    task = laptop.submit("big", "echo ready; exec sleep 86399")
    laptop.until(task, "running")
    eventually(lambda: state_of("86399") == "S", "the command")

    laptop.say("pause", task)
    eventually(lambda: state_of("86399") == "T", "the command to be stopped")
    assert "paused" in laptop.say("ls")
    big.kill_host_process()
    laptop.kill_daemon()
    laptop.start()
    assert state_of("86399") == "T"
    laptop.say("unpause", task)
    eventually(lambda: state_of("86399") == "S", "the command to go on")

    laptop.say("cancel", task)
    assert laptop.until(task, "cancelled")["runs_on"] == "big"


@pytest.mark.spec("L24", "L21")
def test_a_third_home_sends_input_in_order_and_once_whatever_dies(
    laptop: FleetHome, big: FleetHome, desk: FleetHome, fleet: TestFleet
) -> None:
    task = laptop.submit("big", "echo ready; cat", "--stdin")
    laptop.until(task, "running")

    desk.say("send", task, "one")
    laptop.kill_host_process()
    desk.say("send", task, "two")
    laptop.say("send", task, "three")
    desk.say("send", "--eof", task, "four")

    assert desk.wait(task) == 0
    assert laptop.wait(task) == 0
    assert laptop.say("logs", task) == "ready\none\ntwo\nthree\nfour\n"
    over = desk.run("send", task, "five")
    assert over.returncode != 0
    assert "is completed; input can only be sent to a running task" in over.stderr
    # It may be secret.
    assert fleet.execute("select distinct body from fleet.requests where wish = 'send'") == [({},)]


@pytest.mark.spec("L24", "L21")
def test_a_third_home_is_told_that_a_task_takes_no_input(
    laptop: FleetHome, big: FleetHome, desk: FleetHome
) -> None:
    task = laptop.submit("big", "sleep 600")
    laptop.until(task, "running")

    refused = desk.run("send", task, "hello")

    desk.say("cancel", task)
    assert refused.returncode != 0
    assert "the run was started without input; start it with --stdin or --pty" in refused.stderr


@pytest.mark.spec("L24", "L21")
def test_much_input_from_a_third_home_arrives_whole(
    laptop: FleetHome, big: FleetHome, desk: FleetHome
) -> None:
    task = laptop.submit("big", "wc -c", "--stdin")
    laptop.until(task, "running")

    done = subprocess.run(
        desk.words("send", "--eof", task),
        input=b"x" * 600_000, env=desk.environ, capture_output=True, timeout=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert laptop.wait(task) == 0
    assert laptop.say("logs", task).split() == ["600000"]


@pytest.mark.spec("L28", "L21")
def test_a_third_home_pauses_a_task_and_lets_it_go_on(
    laptop: FleetHome, big: FleetHome, desk: FleetHome
) -> None:
    task = laptop.submit("big", "echo ready; exec sleep 86398")
    laptop.until(task, "running")
    eventually(lambda: state_of("86398") == "S", "the command")

    assert "its processes are suspended" in desk.say("pause", task)
    assert state_of("86398") == "T"
    assert "paused" in laptop.say("ls")
    assert desk.say("show", task).splitlines()[0].endswith("paused")
    assert desk.say("ls", "--fleet").splitlines()[1].split()[2] == "paused"
    assert "continued" in desk.say("unpause", task)
    assert state_of("86398") == "S"
    assert "is not paused" in desk.say("unpause", task)

    desk.say("cancel", task)
    over = desk.run("pause", task)
    assert over.returncode != 0
    assert "there is nothing to pause" in over.stderr
    unknown = desk.run("pause", "nothing-like-it")
    assert "unknown task 'nothing-like-it'" in unknown.stderr


@pytest.mark.spec("L28", "L21")
def test_a_third_home_holds_a_task_that_no_host_has(
    laptop: FleetHome, desk: FleetHome, fleet: TestFleet
) -> None:
    task = laptop.submit("later", "echo done")
    eventually(lambda: fleet.execute(f"select 1 from fleet.runs where task = '{task}'"), "the offer")

    assert f"held {task}" in desk.say("pause", task)
    kept = f"select 1 from fleet.runs where task = '{task}' and selector = '(paused)'"
    eventually(lambda: fleet.execute(kept), "the fleet to know it")
    assert f"released {task}" in desk.say("unpause", task)
    fleet.add("later")

    assert laptop.wait(task) == 0


@pytest.mark.spec("L28")
def test_a_paused_task_leaves_its_slot_to_others(laptop: FleetHome, fleet: TestFleet) -> None:
    fleet.add("narrow", "--slots", "1")
    task = laptop.submit("narrow", "echo ready; exec sleep 86397")
    eventually(lambda: state_of("86397") == "S", "the command")
    other = laptop.submit("narrow", "echo other")

    laptop.say("pause", task)

    assert laptop.wait(other) == 0
    assert state_of("86397") == "T"
    laptop.say("unpause", task)
    eventually(lambda: state_of("86397") == "S", "the command to go on")
    laptop.say("cancel", task)


@pytest.mark.spec("L28")
def test_a_task_that_no_host_has_is_held_until_it_is_released(laptop: FleetHome, fleet: TestFleet) -> None:
    task = laptop.submit("late", "echo done")
    eventually(lambda: fleet.execute(f"select 1 from fleet.runs where task = '{task}'"), "the offer")

    laptop.say("hold", task)
    kept = f"select 1 from fleet.runs where task = '{task}' and selector = '(paused)'"
    eventually(lambda: fleet.execute(kept), "the fleet to know it")
    fleet.add("late")
    other = laptop.submit("late", "echo other")
    assert laptop.wait(other) == 0
    assert laptop.view(task)["state"] == "pending"
    laptop.say("release", task)

    assert laptop.wait(task) == 0


@pytest.mark.spec("T6")
def test_an_event_at_home_runs_a_task_on_another_host(laptop: FleetHome, big: FleetHome) -> None:
    line = "echo $ERRANDS_EVENT_SOURCE $ERRANDS_EVENT_COUNT; grep -o seen[.]txt $ERRANDS_EVENT_FILE"
    task = laptop.submit("big", line, "--on", "file:*.txt")
    eventually(lambda: "watching" in laptop.say("show", task) or laptop.view(task).get("watch"), "the watch")
    (laptop.work / "seen.txt").touch()

    eventually(lambda: laptop.view(task)["run_state"] == "completed", "its run")
    assert laptop.view(task)["runs_on"] == "big"
    assert laptop.say("logs", task).startswith("file 1\nseen.txt\n")
    laptop.say("cancel", task)


@pytest.mark.spec("A8")
def test_a_command_that_watches_for_an_event_is_judged_where_it_runs(
    laptop: FleetHome, big: FleetHome
) -> None:
    done = laptop.run("run", "--host", "big", "--on", "command:rm -rf build", "--", "true")
    assert done.stdout.startswith("proposed "), done.stderr
    assert "deletes build recursively" in done.stdout


def test_a_setting_places_what_names_no_host(laptop: FleetHome, big: FleetHome) -> None:
    laptop.config.write_text(f'{laptop.config.read_text()}[runs]\nhost = "gpu"\n')
    there = laptop.say("run", "--quiet", "--yes", "--", "sh", "-c", "echo $ERRANDS_HOME").strip()
    here = laptop.say(
        "run", "--quiet", "--yes", "--host", "here", "--", "sh", "-c", "echo $ERRANDS_HOME"
    ).strip()

    assert (laptop.wait(there), laptop.wait(here)) == (0, 0)
    assert laptop.say("logs", there) == f"{big.home.path}\n"
    assert laptop.say("logs", here) == f"{laptop.home.path}\n"
    assert laptop.view(here)["kind"] == "shell"


def test_doctor_takes_no_run_on_another_host_for_abandoned(laptop: FleetHome, big: FleetHome) -> None:
    task = laptop.submit("big", "echo up; exec sleep 1000")
    eventually(lambda: "up" in laptop.say("logs", task), "its output")

    said = laptop.run("doctor").stdout

    laptop.say("cancel", task)
    assert "every running task is supervised" in said
    assert task not in said


def test_a_host_that_is_described_in_a_wrong_way_is_told_what_to_write(laptop: FleetHome) -> None:
    labels = laptop.run("host", "join", "env:FLEET_URL", "--label", "big,gpu")
    assert labels.returncode == 2
    assert "(got 'big,gpu'); give --label once for each" in labels.stderr

    slots = laptop.run("host", "join", "env:FLEET_URL", "--slots", "many")
    assert slots.returncode == 2
    assert slots.stderr.startswith("errands: --slots: must be a number from 0 to ")
