"""The real Claude Code with the tools of Errands, after `errands install claude`."""

from __future__ import annotations

import json
import queue
import shlex
import subprocess
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from errands.testing.model_server import ModelServer
from tests.clients.programs import claude_env, program
from tests.frontends.cli.person import Person

WITHIN = 30.0  # seconds


@pytest.fixture(scope="module")
def person(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person who has installed Errands for Claude Code."""
    place = tmp_path_factory.mktemp("claude")
    person = Person(place / "errands", place / "project")
    person.cwd.mkdir()
    person.environ |= claude_env(place / "home", model.url)
    # The tools are there at the first prompt, and all of them are in the request.
    person.environ |= {"MCP_CONNECTION_NONBLOCKING": "0", "ENABLE_TOOL_SEARCH": "false"}
    person.types("install", "claude", "--yes", "--trust")
    yield person
    person.leaves()


COMMAND = ["--model", "claude-fake", "--verbose", "--output-format", "stream-json"]


class Live:
    """A streaming session, as in programs that embed Claude Code and show its dialogs."""

    def __init__(self, person: Person, model: ModelServer) -> None:
        self._model = model
        self._said: queue.Queue[dict[str, Any]] = queue.Queue()
        self._process = subprocess.Popen(
            [program("claude"), "-p", *COMMAND, "--input-format", "stream-json"],
            cwd=person.cwd,
            env={**person.environ, "CLAUDE_CODE_ENTRYPOINT": "sdk-py"},  # such programs name themselves
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()
        self.dialogs: list[str] = []
        self.answer: dict[str, Any] = {"action": "cancel"}

    def prompts(self, text: str) -> list[str]:
        """Send a prompt; return the results of its tool calls."""
        self._send({"type": "user", "message": {"role": "user", "content": text}})
        return self._turn()

    def is_woken(self) -> str:
        """Wait for a turn without a prompt; return the request to the model."""
        while True:
            self._turn()
            if "task-notification" in json.dumps(self._model.asked[-1].body["messages"][-1]):
                return self._model.asked[-1].text

    def _turn(self) -> list[str]:
        results: list[str] = []
        while True:
            said = self._said.get(timeout=WITHIN)
            if said["type"] == "result":
                return results
            if said["type"] == "control_request":
                self.dialogs.append(said["request"]["message"])
                response = {"request_id": said["request_id"], "response": self.answer}
                self._send({"type": "control_response", "response": {"subtype": "success", **response}})
            results += results_in(said)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(json.loads(line))

    def leaves(self) -> None:
        with self._process:
            self._process.kill()
        self._listening.join()


def results_in(said: dict[str, Any]) -> list[str]:
    content = said.get("message", {}).get("content", ())
    return [each["content"] for each in content if isinstance(each, dict) and each["type"] == "tool_result"]


@pytest.fixture(scope="module")
def live(person: Person, model: ModelServer) -> Iterator[Live]:
    session = Live(person, model)
    try:
        yield session
    finally:
        session.leaves()


def calling(tool: str, **arguments: Any) -> str:
    return f"CALL mcp__plugin_errands_errands__{tool} {json.dumps(arguments)}\n"


def deleting(victim: Path, **arguments: Any) -> str:
    victim.touch()
    return calling("Bash", command=f"rm -v {victim}", **arguments)


@pytest.mark.spec("X5", "N6", "N8")
@pytest.mark.trap(7)
def test_it_launches_a_command_and_is_woken_when_that_ends(live: Live, person: Person) -> None:
    (reply,) = live.prompts(calling("Bash", command="sleep 0.5; echo 12 passed", run_in_background=True))
    launched = json.loads(reply)
    assert launched["wake"] == "session"

    woken = live.is_woken()
    assert f"{launched['task_id']} completed" in woken
    assert "12 passed" in woken
    assert "NOT USER INPUT" in woken
    assert "<summary>Errands: news of background tasks</summary>" in woken
    assert person.sees(launched["task_id"])["created_by"] == "agent claude-code"


@pytest.mark.spec("A4", "A5", "A8")
def test_a_dialog_asks_the_person_and_their_answer_counts(live: Live, person: Person, tmp_path: Path) -> None:
    kept, deleted = tmp_path / "kept", tmp_path / "deleted"
    live.answer = {"action": "decline"}
    live.prompts(deleting(kept))
    live.answer = {"action": "accept", "content": {"approve": True}}
    (reply,) = live.prompts(deleting(deleted))

    assert [f"rm -v {each}" in text for each, text in zip((kept, deleted), live.dialogs, strict=True)] == [
        True,
        True,
    ]
    assert "removed" in reply
    assert (kept.exists(), deleted.exists()) == (True, False)
    (task,) = [each for each in person.types("ls", "--json").objects if str(deleted) in each["command"]]
    assert (task["state"], task["door"]) == ("completed", "mcp")
    assert "claude-code" in task["approved_by"]


@pytest.mark.spec("X2")
def test_its_commands_and_skill_are_there(live: Live, model: ModelServer) -> None:
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
    done = subprocess.run(
        [program("claude"), "-p", *COMMAND, *options, "--", prompt],
        cwd=person.cwd,
        env=person.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=True,
    )
    return [each for line in done.stdout.splitlines() for each in results_in(json.loads(line))]


@pytest.mark.spec("A8", "A11", "N6", "N8", "X5")
@pytest.mark.trap(7)
def test_without_a_dialog_it_waits_for_approval_from_elsewhere(
    person: Person, model: ModelServer, tmp_path: Path
) -> None:
    session, first, second = str(uuid.uuid4()), tmp_path / "first", tmp_path / "second"
    asked = len(model.asked)

    (reply,) = once(person, deleting(first), "--session-id", session)

    assert "Nothing tells you when it ends" in model.asked[asked].text
    (task,) = person.types("ls", "--json", "--state", "proposed").objects
    assert f"errands approve {task['id']}" in reply
    assert first.exists()

    person.types("approve", task["id"])
    person.types("wait", "-q", task["id"])
    told = person.types(
        "run", "-q", "--yes", "echo meanwhile", yes=False, ERRANDS_SESSION=f"claude:{session}"
    ).out.strip()
    person.types("wait", "-q", told)
    yes = {"hookEventName": "Elicitation", "action": "accept", "content": {"approve": True}}
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
