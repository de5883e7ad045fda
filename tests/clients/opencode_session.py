"""A session of the real OpenCode, over the API that its own clients use, in a project with our plugin."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from errands.model.states import OPEN
from tests.clients.programs import have_types
from tests.frontends.cli.person import Person

WITHIN = 180.0  # seconds, for a machine that is busy with other tests
A_PERSON_TAKES = 0.2  # seconds to read a question: what answers faster is taken for a program


@contextmanager
def installed(place: Path) -> Iterator[Person]:
    """A person who has installed Errands for OpenCode in a project, and configured nothing."""
    person = Person(place / "errands", place / "project")
    person.cwd.mkdir()
    person.types("install", "opencode", "--project", "--yes")
    have_types(person.cwd / ".opencode")
    yield person
    person.leaves()


class Session:
    def __init__(self, url: str, project: Path, *, agent: str = "build", id: str = "") -> None:
        self.url = url
        self._where = urllib.parse.urlencode({"directory": str(project)})
        self.agent = agent
        self.id: str = id or self.asks("/session", {"title": "tested"})["id"]
        self.owner = f"opencode:{self.id}"

    def prompts(self, text: str) -> list[str]:
        """Send a prompt and wait for the answer; return the results of its tool calls."""
        before = len(self.messages())
        self.asks(f"/session/{self.id}/message", self._body(text))
        return [
            part["state"].get("output") or part["state"]["error"]
            for message in self.messages()[before:]
            for part in message["parts"]
            if part["type"] == "tool"
        ]

    def begins(self, text: str) -> None:
        """Send a prompt and do not wait."""
        self.asks(f"/session/{self.id}/prompt_async", self._body(text))

    def is_refused(self, text: str) -> None:
        """Send a prompt that OpenCode refuses."""
        with pytest.raises(urllib.error.HTTPError):
            self.asks(f"/session/{self.id}/message", self._body(text))

    @contextmanager
    def events(self) -> Iterator[list[dict[str, Any]]]:
        """Collect the events of the project from now on."""
        found: list[dict[str, Any]] = []
        stream = urllib.request.urlopen(f"{self.url}/event?{self._where}", timeout=WITHIN)

        def listen() -> None:
            with stream, suppress(OSError):  # until the server ends
                for line in stream:
                    if line.startswith(b"data:"):
                        found.append(json.loads(line[5:]))

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        waited_for(lambda: found)  # `server.connected`
        yield found

    def is_asked(self) -> dict[str, Any]:
        """Wait for a question to the person, and read it."""

        def question() -> Any:
            return next((each for each in self.asks("/permission") if each["sessionID"] == self.id), None)

        found: dict[str, Any] = waited_for(question)
        time.sleep(A_PERSON_TAKES)
        return found

    def answers(self, question: dict[str, Any], reply: str, **more: str) -> None:
        self.asks(f"/permission/{question['id']}/reply", {"reply": reply, **more})

    def is_idle(self) -> bool:
        return self.id not in self.asks("/session/status")

    def is_running(self, tool: str) -> None:
        """Wait until a tool call runs; the session is busy then."""

        def runs() -> bool:
            parts = [part for each in self.messages() for part in each["parts"] if part["type"] == "tool"]
            return any(each["tool"] == tool and each["state"]["status"] == "running" for each in parts)

        waited_for(runs)

    def is_told(self, words: str) -> dict[str, Any]:
        """Wait until a message to the model has these words."""

        def told() -> Any:
            users = [each for each in self.messages() if each["info"]["role"] == "user"]
            return next((each for each in users if words in json.dumps(each)), None)

        found: dict[str, Any] = waited_for(told)
        return found

    def is_answered(self, words: str) -> None:
        """Wait until the model says exactly these words."""
        waited_for(lambda: words in self.said())

    def said(self) -> list[str]:
        """What the model has said."""
        messages = [each for each in self.messages() if each["info"]["role"] == "assistant"]
        return [part["text"] for each in messages for part in each["parts"] if part["type"] == "text"]

    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.asks(f"/session/{self.id}/message")
        return found

    def is_deleted(self) -> None:
        self.asks(f"/session/{self.id}", method="DELETE")

    def asks(self, path: str, body: object = None, *, method: str | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}{path}?{self._where}",
            None if body is None else json.dumps(body).encode(),
            {"content-type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=WITHIN) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def _body(self, text: str) -> dict[str, Any]:
        return {"agent": self.agent, "parts": [{"type": "text", "text": text}]}


def calling(tool: str, **arguments: Any) -> str:
    """A prompt that makes the model call a tool."""
    return f"CALL {tool} {json.dumps(arguments)}\nSAY done"


def launched_in(reply: str) -> str:
    """Return the id of the task that a tool says it has launched."""
    return reply.split("Task ID: ")[1].split()[0]


def ended(person: Person, task_id: str) -> dict[str, Any]:
    """Wait until a task has ended, for as long as OpenCode may take to start; return what is known of it."""
    waited_for(lambda: person.sees(task_id)["state"] not in OPEN)
    return person.sees(task_id)


def is_saying(message: dict[str, Any], words: str) -> bool:
    """Return whether the model says exactly these words in a message."""
    is_model = message["info"]["role"] == "assistant"
    return is_model and any(part.get("text") == words for part in message["parts"])


def waited_for(look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("it never happened")
