"""Agents at the command line: asked, resumed, forked, listed, and approved."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from errands.frontends.cli import verbs
from tests.engine.agent_project import CAT
from tests.frontends.cli.person import Person


@pytest.mark.spec("R5", "S2", "S3")
def test_a_prompt_is_answered_and_the_conversation_continues(newcomer: Person) -> None:
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
    newcomer.configures(CAT)
    newcomer.types("ask", "--wait", "--name", "talk", "--agent", "cat", "say marmalade")
    fork = newcomer.types("ask", "--wait", "--json", "--fork", "talk", "what was said?").object
    listed = newcomer.types("sessions", "--json").objects

    assert fork["forked"] is True
    assert "marmalade" in fork["answer"]
    assert [each["task"] for each in listed] == [fork["id"], newcomer.sees("talk")["id"]]


@pytest.mark.spec("S5", "S8")
def test_impossible_options_are_refused_and_nothing_is_created(newcomer: Person) -> None:
    assert newcomer.types("resume", "nope", "x", code=3).err == "errands: Task not found: nope\n"
    assert "unknown conversation 'nope'" in newcomer.types("ask", "--fork", "nope", "x", code=3).err
    unknown = newcomer.types("ask", "--agent", "nobody", "x", code=None).err
    assert "unknown agent 'nobody'" in unknown
    assert 'a table [agents.nobody] in your configuration, with backend = "command" for a program' in unknown
    assert newcomer.types("ls", "--json").out == ""


@pytest.mark.spec("R5")
def test_an_agent_that_has_no_model_takes_none(newcomer: Person) -> None:
    for words in (("--model", "m"), ("--tool", "read_file")):
        refused = newcomer.types("ask", *words, "`echo on`", code=2).err
        assert "the agent 'offline' works offline" in refused
        assert "leave it out" in refused
    assert newcomer.types("ls", "--json", "--all").out == ""


def test_each_agent_is_named_once(newcomer: Person) -> None:
    file = Path(newcomer.environ["XDG_CONFIG_HOME"], "errands", "config.toml")
    file.parent.mkdir(parents=True)
    file.write_text('[agents.builtin]\nmodel = "m"\n[agents.mine]\nbackend = "offline"\n')

    said = newcomer.types("ask", "--agent", "nobody", "x", code=2).err
    assert "known: offline, builtin, acp, opencode, claude, codex, command, mine;" in said


@pytest.mark.spec("S15")
def test_a_budget_ends_a_run_and_what_was_said_is_kept(newcomer: Person) -> None:
    ended = newcomer.types(
        "ask", "--wait", "--json", "--budget", "tool_calls=1", "`echo one` and `echo two`", code=None
    ).object

    assert (ended["state"], ended["failure"]) == ("failed", "budget")
    assert newcomer.types("ls", "--json", "--all").out.count('"kind": "shell"') == 1


@pytest.mark.spec("A8", "A11")
def test_waiting_for_an_agent_says_what_needs_approval(newcomer: Person, precious: Path) -> None:
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
    assert f"{proposed} needs approval: errands approve {proposed}" in said
    assert precious.exists()

    newcomer.types("approve", proposed)
    out, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 0
    assert "rm -rf" in out
    assert not precious.exists()


@pytest.mark.trap(58)
@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--model", "m"), ("--tool", "command"), ("--cwd", "/"), ("--lane", "agent"), ("--memory", "none"),
        ("--agent", "offline"), ("--budget", "requests=1"), ("--at", "+1h"), ("--key", "k"), ("--env", "A=b"),
    ],
)  # fmt: skip
def test_what_the_launch_has_decided_is_refused_beside_a_resume(
    person: Person, flag: str, value: str
) -> None:
    for words in (("ask", "--resume", "talk"), ("resume", "talk")):
        refused = person.types(*words, flag, value, "go on", code=2).err
        assert f"does not take {flag}: the options of a task hold" in refused


@pytest.mark.trap(58)
def test_ask_and_resume_agree_on_what_the_launch_decides() -> None:
    asked, resumed = verbs.load("ask"), verbs.load("resume")
    flags = {flag for option in asked.options for flag in option.flags}
    mine = {flag for option in resumed.options for flag in option.flags}

    assert flags == mine | set(resumed.refused) | {"--resume"}


@pytest.mark.spec("R5")
def test_a_prompt_can_come_from_standard_input(person: Person) -> None:
    words = "für mich:\n```\necho marmalade\n```\n"
    told = person.types("ask", "--wait", "--json", "-", given=words).object
    more = person.types("resume", "--wait", "-q", told["id"], "-", given="`echo jam`").out

    assert told["prompt"] == words.rstrip("\n")  # which ends the line, not the prompt
    assert "\nmarmalade\n" in told["answer"]
    assert "\njam\n" in more


def test_a_missing_prompt_says_how_to_pass_it(person: Person) -> None:
    assert "or - to read it from standard input" in person.types("ask", given="`echo jam`", code=2).err
    assert "standard input is empty" in person.types("ask", "-", code=2).err
    assert "not text in UTF-8" in person.types("ask", "-", given=b"\xff", code=2).err


def test_a_command_has_no_session_and_says_so(person: Person) -> None:
    task = person.finishes("true")

    refused = person.types("sessions", task, code=2)
    assert f"task {task} is a command, and only agents have a session" in refused.err
    assert f"errands logs {task}" in refused.err
    assert refused.out == ""


def test_a_conversation_says_why_there_is_no_answer(person: Person) -> None:
    task = person.types("ask", "-q", "`sleep 600`").out.strip()
    person.waits_until(task, "waiting", "task")
    assert "(no answer yet)" in person.types("sessions", task).out

    person.types("cancel", task)
    person.types("wait", task, code=None)
    told = person.types("sessions", task).out
    assert "(cancelled: stopped by ada)" in told
    assert "errands resume" not in told
    assert person.types("sessions", task, "--json").object["state"] == "cancelled"


def _proposal(newcomer: Person) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = newcomer.types("ls", "--json", "--state", "proposed", code=None)
        if found.code == 0 and found.out:
            return str(found.objects[0]["id"])
    raise AssertionError("nothing was proposed")
