"""Agents at the command line: asked, resumed, forked, listed, and answered when they need a yes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from .person import Person


@pytest.mark.spec("R5", "S2", "S3")
def test_a_prompt_is_answered_and_the_conversation_goes_on(newcomer: Person) -> None:
    first = newcomer.types("ask", "--wait", "--name", "talk", "please `echo marmalade`")
    second = newcomer.types("resume", "--wait", "-q", "talk", "and `echo jam`")
    seen = newcomer.types("show", "talk", "--json").object

    assert "not a language model" in first.out
    assert "marmalade" in first.out
    assert "jam" in second.out
    assert "marmalade" not in second.out
    assert (seen["kind"], seen["state"], seen["resume_count"]) == ("agent", "completed", 1)


@pytest.mark.spec("S8")
def test_a_fork_is_a_task_of_its_own(newcomer: Person) -> None:
    newcomer.types("ask", "--wait", "--name", "talk", "please `echo marmalade`")
    fork = newcomer.types("ask", "--wait", "--json", "--fork", "talk", "what was said?").object
    listed = newcomer.types("sessions").out

    assert fork["forked"] is True
    assert "marmalade" in fork["answer"]
    assert "talk-" in listed
    assert fork["id"] in listed


@pytest.mark.spec("S5", "S8")
def test_what_cannot_be_is_said_and_nothing_is_made(newcomer: Person) -> None:
    assert "Task not found: nope" in newcomer.types("resume", "nope", "x", code=3).err
    assert "there is no conversation 'nope'" in newcomer.types("ask", "--fork", "nope", "x", code=3).err
    assert "there is no agent 'nobody'" in newcomer.types("ask", "--agent", "nobody", "x", code=None).err
    assert newcomer.types("ls", "--json").out == ""


@pytest.mark.spec("S15")
def test_a_budget_ends_a_run_and_what_was_said_is_kept(newcomer: Person) -> None:
    ended = newcomer.types(
        "ask", "--wait", "--json", "--budget", "tool_calls=1", "`echo one` and `echo two`", code=None
    ).object

    assert (ended["state"], ended["failure"]) == ("failed", "budget")
    assert newcomer.types("ls", "--json", "--all").out.count('"kind": "shell"') == 1


@pytest.mark.spec("A8", "A11")
def test_whoever_waits_for_an_agent_is_told_what_needs_a_yes(newcomer: Person, precious: Path) -> None:
    waiting = subprocess.Popen(
        [sys.executable, "-m", "errands", "ask", "--wait", f"`rm -rf {precious}`"],
        cwd=newcomer.cwd,
        env=newcomer.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    proposed = _proposal(newcomer)
    assert waiting.stderr is not None
    said = waiting.stderr.readline() + waiting.stderr.readline()
    assert f"{proposed} waits for a yes: errands approve {proposed}" in said
    assert precious.exists()

    newcomer.types("approve", proposed)
    out, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 0
    assert "rm -rf" in out
    assert not precious.exists()


def _proposal(newcomer: Person) -> str:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = newcomer.types("ls", "--json", "--state", "proposed", code=None)
        if found.code == 0 and found.out:
            return str(found.objects[0]["id"])
    raise AssertionError("nothing was proposed")
