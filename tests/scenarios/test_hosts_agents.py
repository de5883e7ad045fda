"""Prompts for agents on another host: asked at home, carried out and judged there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scenarios.fleet_homes import CAREFUL, FleetHome, TestFleet, eventually, is_running

pytestmark = pytest.mark.spec("X12", "L3")

AGENTS = f"{CAREFUL}deny = ['forbidden *']\n[agents.cat]\nbackend = 'command'\ncommand = 'cat'\n"


@pytest.fixture(scope="module")
def host(big: FleetHome) -> FleetHome:
    """The host that has agents of its own, which the laptop knows nothing about."""
    big.config.write_text(AGENTS)
    big.kill_host_process()
    return big


def ask(laptop: FleetHome, prompt: str, *options: str) -> str:
    """Start a prompt on the other host, and return the id of its task."""
    printed = laptop.say("ask", "--quiet", "--host", "gpu", *options, prompt)
    return printed.strip().splitlines()[-1]


def test_an_agent_runs_where_it_is_placed(laptop: FleetHome, host: FleetHome) -> None:
    task = ask(laptop, "say `echo marmalade`")

    assert laptop.wait(task) == 0

    view = laptop.view(task)
    assert (view["state"], view["kind"], view["runs_on"]) == ("completed", "remote", "big")
    assert "marmalade" in view["answer"]
    assert view["tool_calls"] == 1
    assert "marmalade" in laptop.say("logs", task)
    assert "echo marmalade" in host.say("ls", "--all", "--json")
    assert [each["event"] for each in laptop.notices()] == []  # `wait` has reported it


def test_an_agent_of_the_host_is_asked_resumed_and_forked_there(laptop: FleetHome, host: FleetHome) -> None:
    task = ask(laptop, "say marmalade", "--agent", "cat")
    assert laptop.wait(task) == 0
    assert "marmalade" in laptop.view(task)["answer"]

    laptop.say("resume", task, "and jam")

    assert laptop.wait(task) == 0
    view = laptop.view(task)
    assert "jam" in view["answer"]
    assert view["runs_on"] == "big"
    fork = ask(laptop, "what was said?", "--fork", task)
    assert laptop.wait(fork) == 0
    assert "marmalade" in laptop.view(fork)["answer"]
    refused = laptop.run("ask", "--fork", task, "here?")
    assert refused.returncode == 2
    assert "--host big" in refused.stderr


def test_what_the_host_does_not_know_is_an_error_there(laptop: FleetHome, host: FleetHome) -> None:
    task = ask(laptop, "hello", "--agent", "nobody")

    assert laptop.wait(task) == 1
    assert "unknown agent 'nobody'" in laptop.view(task)["error"]


@pytest.mark.spec("A10")
def test_what_an_agent_wants_to_do_is_asked_at_home_and_done_there(
    laptop: FleetHome, host: FleetHome, tmp_path: Path
) -> None:
    wanted, other = tmp_path / "wanted", tmp_path / "other"
    task = ask(laptop, f"do `touch {wanted}` and `forbidden word` and `touch {other}`")
    eventually(lambda: laptop.view(task)["reasons"], "the question")
    view = laptop.view(task)
    assert view["state"] == "running"
    assert "on big" in laptop.say("ls")
    assert str(wanted) in laptop.say("show", task)
    assert not wanted.exists()

    laptop.say("approve", task)

    eventually(lambda: wanted.exists() and laptop.view(task)["reasons"], "the next question")
    laptop.say("reject", task, "--note", "not that")
    assert laptop.wait(task) == 0
    assert not other.exists()
    answer = laptop.view(task)["answer"]
    assert "not allowed" in answer
    assert "not that" in answer
    asked = [json.loads(line) for line in laptop.say("audit", task, "--json").splitlines()]
    assert sorted(each["state"] for each in asked) == ["granted", "refused"]


def test_a_question_that_is_answered_on_the_host_is_withdrawn_at_home(
    laptop: FleetHome, host: FleetHome, tmp_path: Path
) -> None:
    wanted = tmp_path / "wanted"
    task = ask(laptop, f"do `touch {wanted}`")
    eventually(lambda: laptop.view(task)["reasons"], "the question")
    (there,) = (json.loads(line) for line in host.say("ls", "--json", "--state", "proposed").splitlines())

    host.say("approve", there["id"])

    assert laptop.wait(task) == 0
    assert wanted.exists()
    assert not laptop.view(task)["reasons"]


def test_cancelling_an_agent_ends_it_and_its_commands_there(laptop: FleetHome, host: FleetHome) -> None:
    task = ask(laptop, "run `sleep 87654`")
    eventually(lambda: '"sleep 87654"' in host.say("ls", "--json"), "its command")

    laptop.say("cancel", task)

    assert laptop.wait(task) == 143
    eventually(lambda: not is_running("87654"), "the end of its command")


def test_a_session_that_its_host_has_lost_is_said_to_be_gone(laptop: FleetHome, host: FleetHome) -> None:
    task = ask(laptop, "say `echo one`")
    assert laptop.wait(task) == 0
    host.say("clear", "--all")

    laptop.say("resume", task, "say `echo two`")

    assert laptop.wait(task) == 1
    assert "no longer has the session" in laptop.view(task)["error"]


def test_an_agent_whose_host_leaves_is_lost_visibly(
    laptop: FleetHome, host: FleetHome, fleet: TestFleet
) -> None:
    visitor = fleet.add("visitor")
    printed = laptop.say("ask", "--quiet", "--host", "visitor", "run `sleep 76543`")
    task = printed.split()[-1]
    eventually(lambda: '"sleep 76543"' in visitor.say("ls", "--json"), "its command")

    visitor.say("host", "leave", "--force")

    assert laptop.wait(task) == 125
    assert laptop.view(task)["failure"] == "lost"
    eventually(lambda: not is_running("76543"), "the end of its command")
