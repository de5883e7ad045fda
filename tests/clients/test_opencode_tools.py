"""The real OpenCode with the tools of Errands, after `errands install opencode --project`."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.cli.person import Person

WITHIN = 30.0  # seconds
VERSION = "1.18.33"


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person who has installed Errands for OpenCode, in a project."""
    place = tmp_path_factory.mktemp("opencode-project")
    person = Person(place / "errands", place / "project")
    person.cwd.mkdir()
    person.types("install", "opencode", "--project", "--dialect", "native", "--yes")
    have_types(person.cwd / ".opencode")
    yield person
    person.leaves()


def have_types(folder: Path) -> None:
    """Fake the types for plugins, which OpenCode would otherwise download first."""
    package = {"name": "@opencode-ai/plugin", "version": VERSION}
    wanted = {"dependencies": {package["name"]: VERSION}}
    found = {"": wanted, f"node_modules/{package['name']}": {"version": VERSION}}
    place = folder / "node_modules" / package["name"]
    place.mkdir(parents=True)
    (place / "package.json").write_text(json.dumps(package))
    (folder / "package.json").write_text(json.dumps(wanted))
    (folder / "package-lock.json").write_text(json.dumps({"lockfileVersion": 3, "packages": found}))


class Session:
    """A session of the project, over the API that every client of OpenCode uses."""

    def __init__(self, url: str, project: Path) -> None:
        self._url = url
        self._where = urllib.parse.urlencode({"directory": str(project)})
        self.id = self._asks("/session", {"title": "tested"})["id"]

    def prompts(self, text: str) -> list[str]:
        """Send a prompt; return the results of its tool calls."""
        before = len(self.messages())
        self._asks(f"/session/{self.id}/message", {"parts": [{"type": "text", "text": text}]})
        return [
            part["state"]["output"]
            for message in self.messages()[before:]
            for part in message["parts"]
            if part["type"] == "tool"
        ]

    def is_told(self, words: str) -> dict[str, Any]:
        """Wait until a message of the session has these words."""
        deadline = time.monotonic() + WITHIN
        while time.monotonic() < deadline:
            for message in self.messages():
                if words in json.dumps(message) and message["info"]["role"] == "user":
                    return message
            time.sleep(0.05)
        raise AssertionError(f"{self.id} got no report {words!r}: {self.messages()}")

    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._asks(f"/session/{self.id}/message")
        return found

    def _asks(self, path: str, body: object = None) -> Any:
        request = urllib.request.Request(
            f"{self._url}{path}?{self._where}",
            None if body is None else json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=WITHIN) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def session(opencode: str, person: Person) -> Session:
    return Session(opencode, person.cwd)


def calling(tool: str, **arguments: Any) -> str:
    return f"CALL errands_{tool} {json.dumps(arguments)}\nSAY done"


@pytest.mark.spec("X5", "N6", "N8", "S12")
@pytest.mark.trap(7)
def test_the_plugin_reports_an_end_into_the_session_that_started_the_task(
    session: Session, person: Person
) -> None:
    (reply,) = session.prompts(calling("run", command="sleep 0.5; echo 12 passed", name="tests"))

    (task,) = person.types("ls", "--json").objects
    assert f"Task {task['id']} is" in reply
    assert "wake: session. You will be told when it ends; do not poll." in reply
    assert task["parent"] == f"opencode:{session.id}"

    told = session.is_told(f"{task['id']} completed")
    assert "12 passed" in json.dumps(told)
    assert "approves nothing" in json.dumps(told)
    # It counts as delivered when OpenCode has accepted it.
    deadline = time.monotonic() + WITHIN
    while person.types("notices", "--peek", "--json", "--owner", task["owner"]).out:
        assert time.monotonic() < deadline, "the delivered report is still in the inbox"


@pytest.mark.spec("A8", "A11", "X5")
def test_a_harmful_command_waits_for_approval_from_elsewhere(
    session: Session, person: Person, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.touch()

    (reply,) = session.prompts(calling("run", command=f"rm -v {victim}"))
    (task,) = person.types("ls", "--json", "--state", "proposed").objects
    assert f"errands approve {task['id']}" in reply
    assert victim.exists()

    person.types("approve", task["id"])
    session.is_told(f"{task['id']} completed")
    (read,) = session.prompts(calling("output", id=task["id"]))
    assert f"removed '{victim}'" in read
    assert not victim.exists()


@pytest.mark.trap(5)
def test_another_session_sees_no_task_and_gets_no_report(
    opencode: str, session: Session, person: Person
) -> None:
    other = Session(opencode, person.cwd)
    session.prompts(calling("run", command="echo theirs", name="theirs"))
    (theirs,) = [each for each in person.types("ls", "--json").objects if each["name"] == "theirs"]
    session.is_told(f"{theirs['id']} completed")

    (listed,) = other.prompts(calling("list"))

    assert listed == "There are no tasks."
    assert theirs["id"] not in json.dumps(other.messages())


@pytest.mark.spec("N6")
def test_a_task_that_ended_in_absence_is_reported_with_the_next_prompt(opencode: str, person: Person) -> None:
    session = Session(opencode, person.cwd)
    owner = f"opencode:{session.id}"
    said = person.types("run", "-q", "--yes", "echo meanwhile", yes=False, ERRANDS_SESSION=owner)
    task = said.out.strip()
    person.types("wait", "-q", task)

    session.prompts("SAY here again")

    assert "meanwhile" in json.dumps(session.is_told(f"{task} completed"))
