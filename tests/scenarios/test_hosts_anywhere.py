"""A third home of a fleet, which neither has a task nor runs it, sees, awaits and cancels it."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from tests.scenarios.fleet_homes import FleetHome, TestFleet, eventually, is_running

Submit = Callable[..., str]
_numbers = itertools.count(1)

pytestmark = pytest.mark.spec("X12", "L21")


@pytest.fixture(scope="module")
def desk(fleet: TestFleet, laptop: FleetHome, big: FleetHome) -> FleetHome:
    """The third home."""
    return fleet.add("desk", "--slots", "0")


@pytest.fixture
def submit(laptop: FleetHome, fleet: TestFleet) -> Submit:
    """Start a line at the laptop, and return its task when the fleet knows it."""

    def submit(host: str, line: str, *options: str) -> str:
        task = laptop.submit(host, line, *options)
        eventually(lambda: fleet.execute(f"select 1 from fleet.runs where task = '{task}'"), "the offer")
        return task

    return submit


@pytest.fixture
def seconds() -> str:
    """A duration by which the processes of one test are known."""
    return f"9{os.getpid()}.{next(_numbers)}"


def test_a_task_of_another_home_is_shown_and_awaited(
    laptop: FleetHome, desk: FleetHome, submit: Submit
) -> None:
    task = submit("gpu", "echo said $WORD; exit 3", "--env", "WORD=it", "--env", "API_TOKEN=hid-7Qx")

    assert desk.wait(task) == 3

    assert laptop.wait(task) == 3
    assert desk.say("logs", task) == "said it\n"
    assert desk.say("logs", task[:-2]) == "said it\n"
    shown = json.loads(desk.say("show", task, "--json"))
    assert (shown["state"], shown["exit_code"], shown["home"]) == ("failed", 3, "laptop")
    assert (shown["runs_on"], shown["host"], shown["output_tail"]) == ("big", "gpu", "said it\n")
    text = desk.say("show", task)
    assert "exit code 3" in text
    assert "said it" in text
    assert "hid-7Qx" not in text


def test_an_id_that_no_home_knows_is_unknown_as_ever(laptop: FleetHome, desk: FleetHome) -> None:
    for words in (["show"], ["logs"], ["wait"], ["cancel"]):
        done = desk.run(*words, "nothing-like-it")
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == "errands: unknown task 'nothing-like-it'; errands ls --all lists every task\n"


def test_output_is_followed_from_a_third_home(desk: FleetHome, submit: Submit, gate: Path) -> None:
    task = submit("big", f"echo first; read x < {gate}; echo second")

    with subprocess.Popen(
        desk.words("logs", "--follow", task), env=desk.environ, stdout=subprocess.PIPE, text=True
    ) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "first\n"
        gate.write_text("\n")

        assert follower.stdout.readline() == "second\n"
        assert follower.wait(60) == 0


def test_a_third_home_cancels_a_task_for_good(
    laptop: FleetHome, desk: FleetHome, submit: Submit, seconds: str
) -> None:
    task = submit("big", f"echo up; exec sleep {seconds}", "--retries", "3")
    eventually(lambda: is_running(seconds), "the command")

    assert "cancelled" in desk.say("cancel", task)

    assert not is_running(seconds)
    assert laptop.until(task, "cancelled")["error"] == "stopped by fleet desk"
    assert laptop.wait(task) == desk.wait(task) == 143
    again = desk.run("cancel", task)
    assert again.returncode != 0
    assert "nothing to stop" in again.stderr


def test_a_task_that_is_tried_again_is_awaited_to_its_last_try(
    laptop: FleetHome, desk: FleetHome, submit: Submit, tmp_path: Path
) -> None:
    line = f"echo x >> {tmp_path}/tries; test $(wc -l < {tmp_path}/tries) = 2"
    task = submit("big", line, "--retries", "1")

    assert desk.wait(task) == 0

    assert (tmp_path / "tries").read_text() == "x\nx\n"
    assert laptop.wait(task) == 0


@pytest.fixture
def asked(laptop: FleetHome) -> str:
    """A task of the laptop about which its host has asked."""
    line = "echo $PPID > asked; echo done"
    task = laptop.say("run", "--quiet", "--host", "big", "--", "sh", "-c", line).split()[-1]
    laptop.until(task, "proposed")
    return task


@pytest.mark.spec("A10")
def test_a_third_home_approves_what_a_host_asked_about(
    laptop: FleetHome, desk: FleetHome, asked: str
) -> None:
    waited = desk.run("wait", asked)
    assert waited.returncode == 4
    assert f"errands approve {asked}" in waited.stdout
    assert "echo $PPID > asked" in desk.say("show", asked)

    done = desk.run("approve", "--wait", asked)

    assert done.returncode == 0, done.stderr
    assert laptop.wait(asked) == 0
    approver = laptop.view(asked)["approved_by"]
    assert approver.endswith("(desk)"), approver
    assert desk.say("logs", asked) == "done\n"
    again = desk.run("approve", asked)
    assert again.returncode != 0
    assert "it has no open question" in again.stderr


@pytest.mark.spec("A4", "A10")
def test_a_third_home_is_asked_once_more_at_a_terminal_if_only_that_shows_what_would_run(
    laptop: FleetHome, desk: FleetHome
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    words = ("run", "--quiet", "--host", "big", "--", "sh", "-c", f"echo $PPID {secret} > asked")
    task = laptop.say(*words).split()[-1]
    laptop.until(task, "proposed")

    def approve(answer: str) -> str:
        first, *rest = desk.words("approve", task)
        child = pexpect.spawn(
            first, rest, env=desk.environ, encoding="utf-8", timeout=60, dimensions=(24, 200)
        )
        child.expect_exact("Start it? [y/N] ")
        asked = str(child.before)
        child.sendline(answer)
        child.expect(pexpect.EOF)
        return asked + str(child.before)

    said = approve("n")
    assert secret in said
    assert f"not approved: {task} still waits" in said
    assert laptop.view(task)["state"] == "proposed"
    assert "starts" in approve("y")
    assert laptop.wait(task) == 0


def test_a_third_home_rejects_what_a_host_asked_about(laptop: FleetHome, desk: FleetHome, asked: str) -> None:
    assert "it will not start" in desk.say("reject", asked, "--note", "not today")

    assert "not today" in laptop.until(asked, "rejected")["error"]
    late = desk.run("approve", asked)
    assert late.returncode != 0
    assert "already rejected" in late.stderr


@pytest.mark.spec("A10")
def test_a_command_inside_a_run_cannot_approve_through_the_fleet(
    laptop: FleetHome, desk: FleetHome, asked: str
) -> None:
    words = " ".join(desk.words("approve", asked))
    inner = desk.say("run", "--quiet", "--yes", "--", "sh", "-c", f"{words}; echo code $?").split()[-1]
    desk.wait(inner)

    assert "cannot consent" in desk.say("logs", inner)
    assert laptop.view(asked)["state"] == "proposed"


def test_a_third_home_cancels_a_task_that_waits_for_approval(
    laptop: FleetHome, desk: FleetHome, asked: str
) -> None:
    desk.say("cancel", asked)
    assert laptop.until(asked, "cancelled")


def test_the_result_is_known_while_the_laptop_is_asleep(
    laptop: FleetHome, desk: FleetHome, submit: Submit, seconds: str, gate: Path
) -> None:
    task = submit("big", f"echo up; read x < {gate}; exit 6")
    other = submit("big", f"exec sleep {seconds}")
    eventually(lambda: is_running(seconds), "the second command")
    laptop.kill_all()
    gate.write_text("\n")

    assert desk.wait(task) == 6
    assert desk.run("cancel", "--no-wait", other).returncode == 0
    assert desk.wait(other) == 143
    assert not is_running(seconds)

    laptop.start()
    assert laptop.until(other, "cancelled")
    assert laptop.view(task)["exit_code"] == 6


def test_a_lane_is_limited_over_the_whole_fleet(
    laptop: FleetHome, big: FleetHome, desk: FleetHome, gate: Path
) -> None:
    assert desk.say("lane", "narrow", "1", "--fleet").startswith("lane narrow: at most 1 run at once")
    for home in (laptop, desk):
        home.say("lane", "narrow", "4")
    line = f"read x < {gate}"
    tasks = [home.submit("big", line, "--lane", "narrow") for home in (laptop, desk)]

    def counts() -> tuple[int | None, int, int]:
        facts = json.loads(laptop.say("lane", "narrow", "--fleet", "--json"))
        return facts["width"], facts["running"], facts["pending"]

    eventually(lambda: counts() == (1, 1, 1), "one of them to run, and one to wait")
    assert "narrow" in laptop.say("lane", "--fleet")
    gate.write_text("\n")
    eventually(lambda: counts() == (1, 1, 0), "the other to run")
    gate.write_text("\n")
    assert [home.wait(task) for home, task in zip((laptop, desk), tasks, strict=True)] == [0, 0]

    assert "no limit" in desk.say("lane", "narrow", "default", "--fleet")
    assert desk.run("lane", "narrow", "--fleet").returncode == 2
    assert desk.run("lane", "narrow", "many", "--fleet").returncode == 2


def test_a_fleet_that_cannot_be_reached_is_named(desk: FleetHome) -> None:
    cut_off = {**desk.environ, "FLEET_URL": "postgresql://127.0.0.1:1/fleet"}

    done = subprocess.run(desk.words("show", "a-task"), env=cut_off, capture_output=True, text=True)

    assert done.returncode == 1
    assert "no task of this home has that id, and the fleet's database" in done.stderr
    assert "try again later" in done.stderr
