"""The chat and the colleague who speaks up, as their documents describe them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.agent_project import CAT
from tests.frontends.chat.window import Window
from tests.frontends.cli.person import Person
from tests.model_server import ModelServer

IDEA = {
    "name": "watch-pr-42",
    "reason": "PR 42 was discussed but not merged: watch for CI results and review comments on it",
    "command": "echo looked at PR 42",
}


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Person]:
    place = tmp_path_factory.mktemp("colleague")
    configured = Path(f"{place / 'home'}-config") / "errands" / "config.toml"
    configured.parent.mkdir(parents=True)
    configured.write_text(
        f'[agents.small]\nbackend = "builtin"\nmodel = "fake"\nurl = "{model.openai_url}"\n'
        f'pause = 0.001\n{CAT}[discovery]\nidle = "1ms"\n'
    )
    user = Person(place / "home", place)
    user.types("daemon", "start")
    yield user
    user.leaves()


@pytest.mark.spec("X6", "N3", "N6", "L1")
def test_tests_run_in_the_background_while_the_conversation_goes_on(person: Person) -> None:
    (person.cwd / "test_it.py").write_text("def test_one(): pass\ndef test_two(): assert 0\n")
    window = Window(person, "--agent", "cat")
    window.until(lambda: window.line == ">", "a line to type at")
    window.enters("/background python3 -m pytest -q test_it.py")
    task = re.findall(r"started ([\w-]+):", window.shows("started "))[0]
    window.types("what did I want")
    window.shows(f"─── background: {task} ─")
    window.shows_at_the_end("what did I want")
    window.types(" to ask?\r")
    window.shows("User: what did I want to ask?")
    window.enters("and before?")
    said = window.shows("User: and before?")
    window.close()

    assert f"{task} failed in" in said
    assert "1 passed, 1 failed" in said
    assert re.search(rf"\[notice \w+\] {task} failed", said)
    assert "> what did I want to ask?" in said


@pytest.mark.spec("D1", "D2", "D3", "D4")
def test_the_agent_discovers_work_and_it_starts_with_a_yes(person: Person, model: ModelServer) -> None:
    discovery = next(
        each["id"] for each in person.types("ls", "--json").objects if each["name"] == "discovery"
    )
    window = Window(person, "--agent", "small")
    window.until(lambda: window.line == ">", "a line to type at")
    # The model says what the prompt asks for, and its requests contain the conversation.
    window.types(f"\x1b[200~PR 42 is not merged yet, is it?\nSAY {json.dumps(IDEA)}\x1b[201~\r")
    window.shows("looked at PR 42", times=2)
    name = re.findall(r"chat:\w+", window.leaves())[0]
    person.types("fire", "--wait", discovery)
    shown = person.types("show", discovery).out
    asked = model.asked[-1]
    proposal = person.types("ls", "--json", "--state", "proposed").object

    assert asked.offers == {"read_file", "list_files", "search_files", "memory_get"}
    assert (proposal["name"], proposal["owner"]) == ("watch-pr-42", name)
    assert person.sees(discovery)["lane"] == "local"
    assert "person: PR 42 is not merged yet, is it?" in asked.prompt
    assert f"proposed {proposal['id']}" in shown

    again = person.types("chat", name, given=f"approve {proposal['id']}\n")
    person.types("wait", proposal["id"])
    assert f"or later /approve {proposal['id']} or /reject {proposal['id']}" in again.out
    assert f"approved {proposal['id']}" in again.out
    assert person.types("logs", proposal["id"]).out == "looked at PR 42\n"
    assert "looks for work" in person.types("doctor", code=None).out


@pytest.mark.spec("D3")
def test_a_look_that_may_not_be_costs_no_request(person: Person, model: ModelServer) -> None:
    discovery = next(
        each["id"] for each in person.types("ls", "--json").objects if each["name"] == "discovery"
    )
    before = len(model.asked)
    config = Path(f"{person.home}-config") / "errands" / "config.toml"
    config.write_text(config.read_text().replace('idle = "1ms"', 'idle = "1h"'))
    person.types("fire", "--wait", discovery)

    assert len(model.asked) == before
    assert person.types("logs", discovery).out == "not now: a person is here; it looks after 1h of silence\n"
    assert person.sees(discovery)["state"] == "active"
