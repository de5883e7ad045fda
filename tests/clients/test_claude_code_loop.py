"""A fresh machine with Claude Code and `errands install claude`: slow work is started, reported, quoted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.claude_session import STARTED, ClaudeSession, calling
from tests.clients.programs import PLACE, claude_env, program
from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal, ended
from tests.model_server import ModelServer


@pytest.fixture(scope="module")
def fresh(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person with Claude Code and no configuration of Errands, who has typed `errands install claude`."""
    program("claude")
    place = tmp_path_factory.mktemp("fresh")
    person = Person(place / "errands", place / "project")
    person.cwd.mkdir()
    person.environ |= claude_env(place / "home", model.url)
    person.environ |= STARTED  # but no word about its tool search, as on any machine
    person.environ |= {"PATH": f"{PLACE}:{os.environ['PATH']}", "ANTHROPIC_MODEL": "claude-fake"}
    terminal = Terminal(person)
    installing = terminal.types("install", "claude")
    for _ in ("use the tools without asking?", "change the files?"):
        installing.expect(r"\[y/N\] ")
        installing.sendline("y")
    assert ended(installing)[1] == 0
    yield person
    terminal.close()
    person.leaves()


@pytest.fixture
def session(fresh: Person, model: ModelServer) -> Iterator[ClaudeSession]:
    session = ClaudeSession(fresh, model)
    try:
        yield session
    finally:
        session.leaves()


@pytest.mark.spec("X19", "N6")
def test_a_command_and_an_agent_are_started_reported_and_quoted(
    session: ClaudeSession, fresh: Person, model: ModelServer
) -> None:
    command = calling("Bash", command="sleep 1; printf '%s passed' 12", run_in_background=True)
    # In the same answer, or the first may end, and be reported, before the second is called.
    agent = calling(
        "Task",
        description="find it out",
        prompt="what is the answer?",
        subagent_type="general-purpose",
        run_in_background=True,
    )
    agent = agent.replace("CALL", "AND", 1)
    answer = "echo 'what is the answer?' tools="  # which is what the model says to it

    replies = [json.loads(each) for each in session.prompts(f"{command}{agent}SAY meanwhile, 2 and 2 is 4")]

    assert session.said == "meanwhile, 2 and 2 is 4"
    told_when = "You will be told when it ends; do not poll."
    assert [each["wake"] for each in replies] == [told_when, f"{told_when} It has no time limit."]
    told = ""
    while not all(f"{each['task_id']} completed" in told for each in replies):
        told += session.is_woken()
    for result in ("12 passed", answer):
        session.prompts(f"RECALL {result}")
        assert session.said == "recalled"
    # The agent was Claude Code itself, with the model that it uses by itself.
    asked = model.asked_for("what is the answer?")
    assert {each.body["model"] for each in asked if each.path == "/v1/messages"} == {"claude-fake"}
    assert [fresh.sees(each["task_id"])["state"] for each in replies] == ["completed", "completed"]


def task(prompt: str, **arguments: object) -> str:
    given = {"description": prompt, "subagent_type": "general-purpose", "run_in_background": True}
    return calling("Task", **{**given, "prompt": prompt, **arguments})


@pytest.mark.spec("S8", "S11", "S17", "N6")
def test_a_fork_knows_the_conversation_and_reports_to_it(
    session: ClaudeSession, fresh: Person, model: ModelServer
) -> None:
    known = len(model.asked)  # other tests ask the same model
    session.prompts("SAY marmalade")

    (reply,) = session.prompts(f"{task('RECALL marmalade', fork=True)}SAY meanwhile")

    launched = json.loads(reply)
    told = session.is_woken()
    assert f"{launched['task_id']} completed" in told
    assert "recalled" in told
    view = fresh.sees(launched["task_id"])
    assert view["forked"]
    assert view["parent"].startswith("claude:")
    (asked,) = [each for each in model.asked[known:] if each.prompt == "RECALL marmalade"]
    assert "This session is a fork" in json.dumps(asked.body["system"])
    assert "meanwhile" not in json.dumps(asked.body["messages"][-1])  # it ends before the call
    session.prompts("RECALL This session is a fork")
    assert session.said == "forgotten"


@pytest.mark.spec("S2", "S3", "S4", "N6")
def test_a_subagent_takes_a_follow_up_and_reports_again(session: ClaudeSession, fresh: Person) -> None:
    (reply,) = session.prompts(f"{task('SAY the code word is heron')}SAY meanwhile")
    subagent = json.loads(reply)["task_id"]
    assert "the code word is heron" in session.is_woken()

    follow_up = calling("SendMessage", to=subagent, message="RECALL the code word is heron")
    (again,) = session.prompts(f"{follow_up}SAY I asked it again")

    assert (session.said, json.loads(again)["task_id"]) == ("I asked it again", subagent)
    told = session.is_woken()
    assert f"{subagent} completed" in told
    assert "recalled" in told
    assert fresh.sees(subagent)["resume_count"] == 1


@pytest.mark.spec("X5")
def test_a_subagent_is_one_of_claude_codes_own(
    session: ClaudeSession, fresh: Person, model: ModelServer
) -> None:
    agents = Path(fresh.environ["CLAUDE_CONFIG_DIR"]) / "agents"
    agents.mkdir(exist_ok=True)
    (agents / "duck.md").write_text("---\nname: duck\ndescription: a duck\n---\nYou are a duck.\n")

    (reply,) = session.prompts(task("SAY quack", subagent_type="duck"))
    assert "quack" in session.is_woken()
    (asked,) = [each for each in model.asked if each.prompt == "SAY quack"]
    assert "You are a duck." in json.dumps(asked.body["system"])
    assert fresh.sees(json.loads(reply)["task_id"])["agent"] == "command/duck"

    session.prompts(task("SAY never", subagent_type="goose"))
    told = session.is_woken()
    assert "Claude Code has no agent 'goose'; it has claude, duck, " in told


@pytest.mark.spec("X19")
@pytest.mark.trap(5)
def test_after_clear_a_task_belongs_to_the_new_session(session: ClaudeSession, fresh: Person) -> None:
    launch = {"run_in_background": True, "description": "slow"}

    (first,) = session.prompts(calling("Bash", command="echo of the first", **launch))
    session.is_woken()
    session.prompts("/clear")
    (second,) = session.prompts(calling("Bash", command="echo of the second", **launch))

    assert "of the second" in session.is_woken()
    parents = [fresh.sees(json.loads(each)["task_id"])["parent"] for each in (first, second)]
    assert parents[0] != parents[1]
    assert all(each.startswith("claude:") for each in parents)


@pytest.mark.spec("X19")
def test_uninstalling_leaves_what_was_there(fresh: Person, model: ModelServer, tmp_path: Path) -> None:
    other = Person(tmp_path / "errands", tmp_path)
    other.environ |= claude_env(tmp_path / "home", model.url)
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"model": "claude-fake"}')

    other.types("install", "claude", "--yes", "--trust")
    assert settings.read_text() != '{"model": "claude-fake"}'
    other.types("uninstall", "claude", "--yes")

    assert [each.name for each in settings.parent.rglob("*")] == ["settings.json"]
    assert settings.read_text() == '{"model": "claude-fake"}'
