"""Two homes, two daemons, one PostgreSQL: a task of one home runs on the host of the other."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.scenarios.fleet_homes import CAREFUL, FleetHome, TestFleet, eventually, is_running

pytestmark = pytest.mark.spec("X12", "L3")


def test_a_task_runs_on_the_host_with_its_label(laptop: FleetHome, big: FleetHome) -> None:
    task = laptop.submit("gpu", "echo on $ERRANDS_HOME in $(pwd) with $WORD; exit 3", "--env", "WORD=it")

    assert laptop.wait(task) == 3

    view = laptop.view(task)
    assert (view["state"], view["exit_code"], view["failure"]) == ("failed", 3, "exit")
    assert (view["kind"], view["host"], view["runs_on"]) == ("remote", "gpu", "big")
    assert laptop.say("logs", task) == f"on {big.home.path} in {laptop.work} with it\n"
    assert view["output_lines"] == 1
    assert view["duration"] is not None


@pytest.mark.spec("L21")
def test_every_home_sees_what_is_placed_in_the_fleet(laptop: FleetHome, big: FleetHome) -> None:
    task = laptop.submit("gpu", "exit 4")
    assert laptop.wait(task) == 4

    listed = [json.loads(line) for line in big.say("ls", "--fleet", "--json").splitlines()]

    found = next(each for each in listed if each["task"] == task)
    assert (found["state"], found["home"], found["runs_on"]) == ("failed", "laptop", "big")
    assert task in big.say("ls", "--fleet")
    assert big.run("ls", "--fleet", "--watch").returncode == 2
    hosts = {each["name"]: each for each in map(json.loads, big.say("hosts", "--json").splitlines())}
    assert (hosts["big"]["state"], hosts["big"]["slots"], hosts["big"]["labels"]) == ("up", 4, ["gpu"])
    assert (hosts["laptop"]["state"], hosts["laptop"]["slots"]) == ("up", 0)


def test_a_host_that_is_drained_takes_nothing_until_that_is_undone(
    laptop: FleetHome, big: FleetHome, fleet: TestFleet
) -> None:
    big.say("host", "drain")
    task = laptop.submit("gpu", "echo later")
    said = "waiting for a host: no host with the label gpu takes runs (big is draining)"
    eventually(lambda: laptop.view(task)["no_host"] == said, f"the reason: {laptop.view(task)}")
    assert laptop.view(task)["state"] == "pending"
    assert said in laptop.say("ls", "--columns", "id,detail"), "in the list"
    assert said in laptop.say("show", task), "at home"
    assert said in big.say("show", task), "and at another home"
    assert json.loads(big.say("show", task, "--json"))["no_host"] == said
    assert laptop.run("host", "drain", "nobody").returncode == 2

    laptop.say("host", "drain", "big", "--undo")

    assert laptop.wait(task) == 0
    assert laptop.view(task)["no_host"] is None


def test_a_task_says_that_its_lane_is_full_in_the_whole_fleet_and_that_the_fleet_is_away(
    laptop: FleetHome, big: FleetHome, fleet: TestFleet
) -> None:
    laptop.say("lane", "narrow", "0", "--fleet")
    laptop.say("lane", "narrow", "5")
    task = laptop.submit("big", "true", "--lane", "narrow")
    full = "waiting for room in lane narrow of the whole fleet (limit 0: nothing starts)"
    eventually(lambda: laptop.view(task)["no_host"] == full, f"the reason: {laptop.view(task)}")

    away = "waiting for a host: the database of the fleet does not answer"
    fleet.server.stop()
    try:
        later = laptop.submit("big", "true")
        eventually(lambda: laptop.view(later)["no_host"] == away, f"the reason: {laptop.view(later)}")
    finally:
        fleet.server.start()

    assert laptop.wait(later) == 0


def test_the_address_of_the_fleet_is_kept_secret_and_is_checked(laptop: FleetHome, big: FleetHome) -> None:
    assert os.stat(laptop.home.fleet).st_mode & 0o077 == 0
    for number, (url, said) in enumerate(
        (
            ("mysql://u:secret@db/fleet", "postgresql://"),
            ("postgresql://u:secret@127.0.0.1:1/fleet", ""),
            ("env:NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE"),
        )
    ):
        done = FleetHome(laptop.folder, f"other{number}", url).run("host", "join", url)
        assert done.returncode != 0
        assert done.stderr.startswith("errands: ")
        assert said in done.stderr
        assert "secret" not in done.stdout + done.stderr
    taken = FleetHome(laptop.folder, "taken", laptop.environ["FLEET_URL"])
    done = taken.run("host", "join", "env:FLEET_URL", "--name", "big")
    assert done.returncode == 2
    assert "choose another --name" in done.stderr
    assert not os.path.exists(taken.home.fleet)


def test_a_task_waits_for_a_host_that_may_take_it(laptop: FleetHome, fleet: TestFleet) -> None:
    task = laptop.submit("later", "echo done")
    eventually(lambda: fleet.execute("select 1 from fleet.runs"), "the offer")
    assert laptop.view(task)["state"] == "pending"
    said = "waiting for a host: no host in the fleet has the name or label later"
    eventually(lambda: said in laptop.say("show", task), "the reason")
    assert "waiting for a host" in laptop.say("ls")
    rows = laptop.say("ls", "--columns", "id,took").splitlines()
    assert task in map(str.rstrip, rows), "a task that no host has yet took no time"
    assert "started" not in laptop.say("show", task)

    fleet.add("later")

    assert laptop.wait(task) == 0
    assert laptop.view(task)["runs_on"] == "later"


def test_output_is_followed_while_it_is_printed(laptop: FleetHome, big: FleetHome, gate: Path) -> None:
    task = laptop.submit("big", f"echo first; read x < {gate}; echo second")

    with subprocess.Popen(
        laptop.words("logs", "--follow", task), env=laptop.environ, stdout=subprocess.PIPE, text=True
    ) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "first\n"
        assert laptop.view(task)["state"] == "running"
        gate.write_text("\n")

        assert follower.stdout.readline() == "second\n"
        assert follower.wait(60) == 0


def test_cancelling_a_task_ends_it_where_it_runs(laptop: FleetHome, big: FleetHome) -> None:
    task = laptop.submit("big", "echo up; exec sleep 98765")
    laptop.until(task, "running")
    eventually(lambda: is_running("98765"), "the command")

    laptop.say("cancel", task)

    assert laptop.wait(task) == 143
    assert laptop.view(task)["state"] == "cancelled"
    assert not is_running("98765")


def test_a_task_that_no_host_has_is_cancelled_at_once(laptop: FleetHome) -> None:
    task = laptop.submit("nowhere", "echo no")

    laptop.say("cancel", task)

    assert laptop.until(task, "cancelled")["runs_on"] is None


def test_its_host_asks_and_the_answer_at_home_counts_there(laptop: FleetHome, big: FleetHome) -> None:
    printed = laptop.say("run", "--quiet", "--host", "big", "--", "sh", "-c", "echo $PPID > asked")
    task = printed.split()[-1]
    view = laptop.until(task, "proposed")
    assert view["reasons"]
    assert not (laptop.work / "asked").exists()

    laptop.say("approve", task)

    assert laptop.wait(task) == 0
    assert (laptop.work / "asked").exists()
    assert laptop.view(task)["runs_on"] == "big"
    assert laptop.run("approve", task).returncode != 0


@pytest.mark.spec("A10")
def test_what_changed_since_it_was_approved_is_asked_about_again(laptop: FleetHome, big: FleetHome) -> None:
    script = laptop.work / "script"
    script.write_text("#!/bin/sh\necho one\n")
    script.chmod(0o755)
    task = laptop.say("run", "--quiet", "--host", "big", "--", "./script").split()[-1]
    first = laptop.until(task, "proposed")
    script.write_text("#!/bin/sh\necho two\n")

    laptop.run("approve", task)  # it may be asked about again before this has looked

    def asked_again() -> bool:
        view = laptop.view(task)
        return bool(view["state"] == "proposed" and view["approval"] != first["approval"])

    eventually(asked_again, "another question")
    laptop.say("approve", task)
    assert laptop.wait(task) == 0
    assert laptop.say("logs", task) == "two\n"


def test_what_is_forbidden_on_the_host_is_refused(laptop: FleetHome, big: FleetHome) -> None:
    big.config.write_text(f'{CAREFUL}deny = ["forbidden *"]\n')
    big.kill_host_process()
    task = laptop.say("run", "--quiet", "--yes", "--host", "big", "--", "forbidden", "word").split()[-1]

    assert laptop.wait(task) == 1
    assert "not allowed" in laptop.view(task)["error"]


def test_what_is_forbidden_at_home_is_never_offered(laptop: FleetHome, big: FleetHome) -> None:
    laptop.config.write_text(f'{CAREFUL}deny = ["forbidden *"]\n')

    done = laptop.run("run", "--yes", "--host", "big", "--", "forbidden", "word")

    assert done.returncode != 0
    assert "not allowed" in done.stderr


def test_a_directory_that_was_named_must_exist_on_the_host(
    laptop: FleetHome, big: FleetHome, tmp_path: Path
) -> None:
    task = laptop.submit("big", "pwd", "--cwd", str(tmp_path / "gone"))

    assert laptop.wait(task) == 1
    assert "gone is not a directory on this host" in laptop.view(task)["error"]


def test_a_host_leaves_when_nothing_is_lost_by_it(
    laptop: FleetHome, big: FleetHome, fleet: TestFleet, gate: Path
) -> None:
    visitor = fleet.add("visitor")
    task = laptop.submit("visitor", f"echo up; read x < {gate}")
    laptop.until(task, "running")

    refused = visitor.run("host", "leave")
    assert refused.returncode != 0
    assert "errands: this host runs 1 task of other homes; wait" in refused.stderr
    assert "--force" in refused.stderr

    gate.write_text("\n")
    assert laptop.wait(task) == 0
    eventually(lambda: visitor.run("host", "leave").returncode == 0, "the visitor to leave")
    assert "visitor" not in laptop.say("hosts"), "a host that left is not one that is missing"
    assert visitor.host_process is None
    assert "is not in a fleet" in visitor.run("hosts").stderr
    assert visitor.run("run", "--host", "big", "--", "true").returncode == 2
    assert laptop.view(task)["state"] == "completed"
