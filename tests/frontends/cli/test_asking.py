"""ask, resume, sessions: conversations with agents on the command line."""

from __future__ import annotations

import re

import pytest

from errands import bootstrap
from errands.frontends.cli.display.json_fields import ALONE, ALWAYS, OF_AGENTS
from errands.model.record import evolve
from errands.text.describe import tokens_text
from tests.engine.agent_project import CAT
from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal, ended


@pytest.mark.spec("S7", "X7")
def test_an_answer_that_is_waited_for_is_not_a_notice(person: Person) -> None:
    answer = person.types("ask", "--wait", "-q", "please `echo marmalade`")
    assert answer.out.startswith("$ echo marmalade\nmarmalade\n")
    assert "not a language model" in answer.out
    assert "nothing new" in person.types("notices").out


@pytest.mark.spec("S7", "N6")
def test_an_interrupt_only_stops_waiting_and_says_so_on_a_line_of_its_own(person: Person) -> None:
    terminal = Terminal(person)
    child = terminal.types("ask", "--wait", "--name", "patient", "run `sleep 60`")
    child.expect("Ctrl-C leaves it running")
    child.sendintr()
    said, code = ended(child)
    terminal.close()

    assert code == 130
    (task,) = re.findall(r"^(patient-\w+) continues in the background: errands show \1", said, re.MULTILINE)
    person.types("cancel", task)


def test_an_answer_that_is_not_waited_for_is_a_notice(person: Person) -> None:
    task_id = person.types("ask", "-q", "please `echo marmalade`").out.strip()
    person.types("wait", "-q", task_id)
    assert task_id in person.types("notices").out


@pytest.mark.spec("S2", "S4")
def test_a_conversation_continues(person: Person) -> None:
    task_id = person.types("ask", "-q", "--name", "talk", "`echo one`").out.strip()
    person.types("wait", task_id)
    assert "two" in person.types("resume", "--wait", "-q", "talk", "`echo two`").out
    shown = person.types("show", "--json", "talk").object
    assert (shown["kind"], shown["agent"], shown["resume_count"]) == ("agent", "offline", 1)
    assert "$ echo two" in shown["result"]
    assert re.search(r"\n  prompt +`echo one`\n  follow-up +`echo two`\n", person.types("show", "talk").out)
    told = person.types("sessions", "talk").out
    assert told.index("> `echo one`") < told.index("> `echo two`")
    assert [each["prompt"] for each in person.types("sessions", "--json", "talk").objects] == [
        "`echo one`",
        "`echo two`",
    ]
    assert f"{task_id} (resumed)" in person.types("ls").out


@pytest.mark.spec("S8")
def test_a_fork_is_a_task_of_its_own(person: Person) -> None:
    person.configures(CAT)
    person.types("ask", "--wait", "--name", "jam", "--agent", "cat", "say marmalade")
    forked = person.types("ask", "--wait", "-q", "--name", "fork", "--fork", "jam", "what was said?")
    assert "marmalade" in forked.out
    lines = person.types("sessions").out.splitlines()
    assert "(forked)" in lines[1]
    assert "(forked)" not in lines[2]
    found = person.types("sessions", "--json").objects
    assert found[0]["forked_from"] == found[1]["session"]


@pytest.mark.spec("S8")
def test_fork_and_resume_exclude_each_other(person: Person) -> None:
    person.types("ask", "--wait", "--name", "both", "`true`")
    before = person.types("ls", "--all", "--json").out
    refused = person.types("ask", "--fork", "both", "--resume", "both", "hello", code=2)
    assert "mutually exclusive" in refused.err
    assert person.types("ls", "--all", "--json").out == before


@pytest.mark.spec("S5")
def test_what_cannot_be_resumed_says_why(person: Person) -> None:
    for words in (["resume", "nobody-222222", "go on"], ["ask", "--resume", "nobody-222222", "go on"]):
        assert person.types(*words, code=3).err == "errands: Task not found: nobody-222222\n"
    person.types("run", "--wait", "--name", "shell", "true")
    refused = person.types("resume", "shell", "go on", code=2).err
    assert re.search(r"only agents can be resumed; try errands restart shell-\w{6}\n", refused)
    person.types("run", "--name", "hourly", "--every", "1h", "true")
    person.types("pause", "hourly")
    assert "try errands unpause hourly-" in person.types("resume", "hourly", "go on", code=2).err
    assert "errands unpause hourly-" in person.types("resume", "hourly", code=2).err
    person.types("cancel", "hourly")


@pytest.mark.spec("A8", "A11")
def test_a_command_that_needs_approval_waits_and_continues_after_it(person: Person) -> None:
    task_id = person.types("ask", "-q", "--name", "held", "`touch ../x`").out.strip()
    person.waits_until(task_id, "waiting", "approval")
    assert "waiting for approval" in person.types("show", task_id).out
    child = person.types("ls", "--state", "proposed", "--json").object
    person.types("approve", child["id"])
    person.types("wait", task_id)
    assert (person.cwd.parent / "x").exists()


@pytest.mark.spec("O11")
def test_show_says_what_an_agent_did(person: Person) -> None:
    person.types("ask", "--wait", "--name", "tools", "`echo one` `echo two`")
    shown = person.types("show", "tools").out
    assert "2 tool calls: command, command" in shown
    assert "session" in shown
    assert person.types("show", "tools", "--json").object["recent_tools"] == ["command", "command"]


def test_one_of_something_is_in_the_singular(person: Person) -> None:
    task_id = person.types("ask", "--wait", "--json", "`true`").object["id"]
    engine = bootstrap.open_engine(bootstrap.open_home(str(person.home)))
    try:
        (view,) = engine.summaries([task_id])
    finally:
        engine.close()
    assert view.agent is not None
    used = evolve(view.agent, usage={"input_tokens": 1200, "output_tokens": 1, "requests": 1})

    assert tokens_text(evolve(view, agent=used)) == "1,200 tokens in, 1 token out, 1 request"


@pytest.mark.spec("X7")
def test_every_field_of_an_agent_in_json_is_explained(person: Person) -> None:
    person.types("ask", "--wait", "--name", "plain", "`true`")
    others = ("commands", "before", "finally", "input", "sandbox")
    known = [*ALWAYS, *OF_AGENTS, *(name for name in ALONE if name not in others)]
    assert list(person.sees("plain")) == known


@pytest.mark.spec("S15")
def test_budgets_are_named(person: Person) -> None:
    assert "requests" in person.types("ask", "--budget", "apples=3", "hello", code=2).err
    person.types("ask", "--wait", "--name", "purse", "--budget", "requests=3", "`true`")
    assert "3 requests" in person.types("show", "purse").out
    assert person.types("show", "purse", "--json").object["budget"] == {"requests": 3}
    person.types("ask", "--wait", "--name", "penny", "--budget", "requests=1", "`true`")
    assert re.search(r"budget +1 request$", person.types("show", "penny").out, re.M)
