"""The real Claude Code with the tools of Errands, after `errands install claude`."""

from __future__ import annotations

import json
import re
import shlex
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.claude_session import COMMAND, READY, ClaudeSession, calling, results_in
from tests.clients.programs import claude_env, program, ran
from tests.frontends.cli.person import Person
from tests.model_server import ModelServer


@pytest.fixture(scope="module")
def person(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person who has installed Errands for Claude Code."""
    place = tmp_path_factory.mktemp("claude")
    person = Person(place / "errands", place / "project")
    person.cwd.mkdir()
    person.environ |= claude_env(place / "home", model.url)
    person.environ |= READY
    person.types("install", "claude", "--yes", "--trust")
    yield person
    person.leaves()


@pytest.fixture(scope="module")
def live(person: Person, model: ModelServer) -> Iterator[ClaudeSession]:
    session = ClaudeSession(person, model)
    try:
        yield session
    finally:
        session.leaves()


def deleting(victim: Path, **arguments: Any) -> str:
    victim.touch()
    return calling("Bash", command=f"rm -v {victim}", **arguments)


@pytest.mark.spec("X5", "N6", "N8")
@pytest.mark.trap(7)
def test_it_launches_a_command_and_is_woken_when_that_ends(live: ClaudeSession, person: Person) -> None:
    (reply,) = live.prompts(calling("Bash", command="sleep 0.5; echo 12 passed", run_in_background=True))
    launched = json.loads(reply)
    assert launched["wake"] == "You will be told when it ends; do not poll."

    woken = live.is_woken()
    assert f"{launched['task_id']} completed" in woken
    assert "12 passed" in woken
    assert "NOT USER INPUT" in woken
    assert "<summary>Errands: news of background tasks</summary>" in woken
    assert person.sees(launched["task_id"])["created_by"] == "agent claude-code"


@pytest.mark.spec("A4", "A5", "A8")
def test_a_dialog_asks_the_person_and_their_answer_counts(
    live: ClaudeSession, person: Person, tmp_path: Path
) -> None:
    kept, deleted = tmp_path / "kept", tmp_path / "deleted"
    live.answer = {"action": "decline"}
    live.prompts(deleting(kept))
    live.answer = {"action": "accept", "content": {"answer": "approve once"}}
    (reply,) = live.prompts(deleting(deleted))

    # The form wraps a long line, so its words are compared without what is between them.
    shown = ["".join(re.findall(r"[\w/.-]+", text)) for text in live.dialogs]
    assert [f"rm-v{each}" in text for each, text in zip((kept, deleted), shown, strict=True)] == [True, True]
    assert "removed" in reply
    assert (kept.exists(), deleted.exists()) == (True, False)
    (task,) = [each for each in person.types("ls", "--json").objects if str(deleted) in each["command"]]
    assert (task["state"], task["door"]) == ("completed", "mcp")
    assert "claude-code" in task["approved_by"]


@pytest.mark.spec("X2")
def test_its_commands_and_skill_are_there(live: ClaudeSession, model: ModelServer) -> None:
    live.prompts("/errands:background make test\nSAY started")
    live.prompts("/errands:tasks running\nSAY listed")

    started = next(each.text for each in model.asked if "SAY started" in each.prompt)
    listed = next(each.text for each in model.asked if "SAY listed" in each.prompt)
    assert "Run this command in the background" in started
    assert "make test" in started
    assert 'The filter is \\"running' in listed
    assert "errands:errands: Run slow commands and agents in the background" in listed


def once(person: Person, prompt: str, *options: str | Path) -> list[str]:
    """Answer a prompt with a new process; return the results of the tools."""
    argv = [program("claude"), "-p", *COMMAND, *options, "--", prompt]
    said = ran(argv, cwd=person.cwd, env=person.environ)
    return [each for line in said.splitlines() for each in results_in(json.loads(line))]


@pytest.mark.spec("A8", "A11", "N6", "N8", "X5")
@pytest.mark.trap(7)
def test_without_a_dialog_it_waits_for_approval_from_elsewhere(
    person: Person, model: ModelServer, tmp_path: Path
) -> None:
    session, first, second = str(uuid.uuid4()), tmp_path / "first", tmp_path / "second"
    asked = len(model.asked)

    (reply,) = once(person, deleting(first), "--session-id", session)

    assert "Nothing will tell you when it ends" in model.asked[asked].text
    (task,) = person.types("ls", "--json", "--state", "proposed").objects
    assert f"errands approve {task['id']}" in reply
    assert first.exists()

    person.types("approve", task["id"])
    person.types("wait", "-q", task["id"])
    told = person.types(
        "run", "-q", "--yes", "echo meanwhile", yes=False, ERRANDS_SESSION=f"claude:{session}"
    ).out.strip()
    person.types("wait", "-q", told)
    yes = {"hookEventName": "Elicitation", "action": "accept", "content": {"answer": "approve once"}}
    words = shlex.quote(json.dumps({"hookSpecificOutput": yes}))
    settings = tmp_path / "settings.json"
    hook = {"hooks": [{"type": "command", "command": f"echo {words}"}]}
    settings.write_text(json.dumps({"hooks": {"Elicitation": [hook]}}))
    asked = len(model.asked)

    prompt = calling("TaskOutput", task_id=task["id"]) + deleting(second)
    read, removed = once(person, prompt, "--resume", session, "--settings", settings)

    assert f"{told} completed" in model.asked[asked].text
    assert (str(first) in read, str(second) in removed) == (True, True)
    assert (first.exists(), second.exists()) == (False, False)


@pytest.mark.spec("N6", "N8")
def test_a_conversation_that_is_continued_hears_of_what_it_has_started(
    person: Person, model: ModelServer
) -> None:
    session = str(uuid.uuid4())
    launch = calling("Bash", command="echo 12 passed", run_in_background=True)
    (reply,) = once(person, launch, "--session-id", session)
    task = json.loads(reply)["task_id"]
    person.waits_until_reported(task)

    asked = len(model.asked)
    once(person, "SAY thanks", "--continue")

    assert f"{task} completed" in model.asked[asked].text
    asked = len(model.asked)
    once(person, "SAY and now", "--resume", session)
    assert model.asked[asked].text.count(f"{task} completed") == 1, "it is told once"
