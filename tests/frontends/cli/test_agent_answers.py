"""An agent that waits for approval: found by its own id, reported to those who wait for it, on record."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from errands import bootstrap
from errands.engine.approval.tool_approvals import ask_about
from errands.frontends.cli.context import Context
from errands.frontends.cli.live import follow
from errands.ports.agent import ToolCall
from tests.frontends.cli.person import Person


def held(person: Person, *prompt: str) -> tuple[str, str]:
    """Ask an agent for something that needs approval; return its id and that of the command it waits for."""
    agent = person.types("ask", "-q", *prompt).out.strip()
    person.waits_until(agent, "waiting", "approval")
    (child,) = [each["id"] for each in proposed(person) if each["parent"] == f"task:{agent}"]
    return agent, child


def proposed(person: Person) -> list[dict[str, str]]:
    return person.types("ls", "--json", "--state", "proposed").objects


@pytest.mark.spec("A8", "A11")
def test_approving_an_agent_approves_the_command_it_waits_for(person: Person, precious: Path) -> None:
    agent, child = held(person, f"`rm -rf {precious}`")

    shown = person.types("show", agent).out
    assert f"approval of {child}: rm -rf {precious}" in shown
    assert f"errands approve {child}" in shown
    assert child in person.types("approve", agent).out

    person.types("wait", agent)
    assert not precious.exists()
    assert person.sees(child)["approved_by"] == "ada"


@pytest.mark.spec("A8", "A11")
def test_rejecting_an_agent_rejects_the_command_it_waits_for(person: Person, precious: Path) -> None:
    agent, child = held(person, f"`rm -rf {precious}`")

    assert f"rejected {child}" in person.types("reject", agent, "--note", "not on a Friday").out

    person.types("wait", agent)
    assert precious.exists()
    assert "not on a Friday" in person.sees(agent)["answer"]


@pytest.mark.spec("A8")
def test_with_several_waiting_calls_none_is_guessed(person: Person, precious: Path) -> None:
    agent, child = held(person, f"`rm -rf {precious}`")
    run = person.sees(agent)["run_id"]
    other = person.types(
        "propose", "-q", "touch nowhere", code=None, ERRANDS_RUN_ID=run, ERRANDS_TASK_ID=agent
    ).out.strip()

    for verb in ("approve", "reject"):
        refused = person.types(verb, agent, code=3).err
        assert f"{child} (rm -rf {precious})" in refused
        assert f"{other} (touch nowhere)" in refused
    assert precious.exists()
    person.types("cancel", agent, other)


@pytest.mark.spec("A8")
def test_an_agent_that_needs_no_approval_cannot_be_approved(person: Person) -> None:
    agent = person.types("ask", "--wait", "--json", "`echo on`").object["id"]

    assert "it has no open question" in person.types("approve", agent, code=1).err


@pytest.mark.spec("A8", "A11")
def test_an_agent_with_a_waiting_call_is_listed_as_waiting_for_approval(newcomer: Person) -> None:
    agent = newcomer.types("ask", "-q", "--name", "scribe", "`sleep 600`").out.strip()
    run = newcomer.waits_until(agent, "waiting", "task")["run_id"]
    engine = bootstrap.open_engine(bootstrap.open_home(str(newcomer.home)))
    try:
        call = ToolCall(id="1", tool="write_file", arguments={"path": "notes"}, command=None)
        ask_about(engine, engine.store.task(agent), engine.store.run(run), call, ())
        with engine.store:
            engine.store.set_waiting(run, "approval")
    finally:
        engine.close()
    command = newcomer.types("run", "-q", "touch ../x", yes=False, code=4).out.strip()

    counted = "2 tasks need approval: errands show ID, then errands approve ID (or reject)"
    assert [each["id"] for each in proposed(newcomer)] == [command, agent]
    for words in (["ls"], ["ls", "--state", "proposed"], ["notices"]):
        *rows, last = newcomer.types(*words).out.splitlines()
        assert last == counted
        assert all(any(row.startswith(each) for row in rows) for each in (command, agent))
    assert newcomer.types("ls", "--state", "proposed", "-n", "1", "--json").object["id"] == command
    assert "scribe" in newcomer.types("complete", "zsh", "--", "approve", "scr").out
    newcomer.types("cancel", agent, command)


@pytest.mark.spec("A8", "A11", "O4")
def test_waiting_for_an_agent_is_woken_by_the_bell_to_say_what_to_type(
    person: Person, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "LOOK", 60.0)
    monkeypatch.setattr("errands.config.home", lambda environ: str(person.home))
    context = Context(lambda: bootstrap, person.environ)
    agent = person.types("ask", "-q", f"`rm -rf {precious}`").out.strip()
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        person.types("approve", text.split()[0])

    (view,) = follow.wait_for(context, [agent], timeout=60, notify=tell)

    assert (len(told), view.state, precious.exists()) == (1, "completed", False)


@pytest.mark.spec("A8")
def test_cancelling_agents_does_not_ask_to_approve_them(person: Person, precious: Path) -> None:
    agents = [held(person, f"`rm -rf {precious}/{name}`")[0] for name in "ab"]

    gone = person.types("cancel", *agents)

    assert gone.err == ""
    assert [line.split()[2] for line in gone.out.splitlines()] == ["cancelled", "cancelled"]


@pytest.mark.spec("A8", "A11")
def test_the_record_of_a_call_names_the_call_and_not_the_prompt(person: Person, tmp_path: Path) -> None:
    agent = person.types("ask", "-q", "--agent", "offline", "`sleep 600`").out.strip()
    run = person.waits_until(agent, "waiting", "task")["run_id"]
    engine = bootstrap.open_engine(bootstrap.open_home(str(person.home)))
    try:
        task = engine.store.task(agent)
        call = ToolCall(id="1", tool="write_file", arguments={"path": "notes"}, command=None)
        ask_about(engine, task, engine.store.run(run), call, ())
    finally:
        engine.close()
    person.types("reject", agent)

    for told in (person.types("audit").out, person.types("audit", agent).out):
        assert 'write_file {"path": "notes"}' in told
        assert "`sleep 600`" not in told
    (entry,) = [each for each in person.types("audit", "--json").objects if each["task"] == agent]
    assert entry["command"] == 'write_file {"path": "notes"}'
    person.types("cancel", agent)


@pytest.mark.spec("A8", "A11")
def test_waiting_for_an_agent_says_what_to_type_and_can_time_out(person: Person, precious: Path) -> None:
    agent, child = held(person, f"`rm -rf {precious}`")
    told = f"{child} needs approval: errands approve {child} (or reject)"

    for more in ((), ("--quiet",), ("--json",)):
        gone = person.types("wait", agent, "--timeout", "200ms", *more, code=124)
        assert told in gone.err.splitlines()

    at_a_terminal = pexpect.spawn(
        sys.executable,
        ["-m", "errands", "wait", agent, "--timeout", "1s"],
        cwd=str(person.cwd),
        env={**person.environ, "TERM": "xterm"},
        dimensions=(24, 200),
        encoding="utf-8",
        timeout=60,
    )
    at_a_terminal.expect_exact(f"\x1b[K{told}\r\n")  # a line of its own, although another one redraws itself
    at_a_terminal.expect(pexpect.EOF)
    at_a_terminal.close()
    assert at_a_terminal.exitstatus == 124
    person.types("cancel", agent)


@pytest.mark.spec("A8")
def test_waiting_for_an_agent_ends_when_it_is_answered_elsewhere(person: Person, precious: Path) -> None:
    agent, child = held(person, f"`rm -rf {precious}`")
    waiting = subprocess.Popen(
        [sys.executable, "-m", "errands", "wait", agent],
        cwd=person.cwd,
        env=person.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiting.stderr is not None
    assert child in waiting.stderr.readline()

    person.types("approve", child)

    out, _ = waiting.communicate(timeout=30)
    assert (waiting.returncode, out.split()[0]) == (0, agent)
