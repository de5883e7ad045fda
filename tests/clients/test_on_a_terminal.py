"""Codex and Gemini CLI as a person uses them, on a terminal: the loop, and a question answered there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.opencode_session import waited_for
from tests.clients.programs import PLACE, codex_env, program
from tests.clients.screen import Screen
from tests.frontends.cli.person import Person
from tests.gate import Gate
from tests.model_server import ModelServer

pytestmark = [pytest.mark.timeout(600), pytest.mark.spec("X19")]
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False},
}


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path / "errands", tmp_path / "project")
    person.cwd.mkdir()
    person.environ |= {"HOME": str(tmp_path), "PATH": f"{PLACE}:{os.environ['PATH']}"}
    yield person
    person.leaves()


@pytest.fixture
def codex(person: Person, model: ModelServer, tmp_path: Path) -> Iterator[Screen]:
    person.environ |= codex_env(tmp_path, model.openai_url)
    config = tmp_path / ".codex" / "config.toml"
    config.write_text(f'{config.read_text()}[projects."{person.cwd}"]\ntrust_level = "trusted"\n')
    person.types("install", "codex", "--yes", "--trust")
    # The server that all its windows share would outlive the test.
    waits = ("-c", "mcp_servers.errands.required=true", "-c", "mcp_servers.errands.startup_timeout_sec=60")
    screen = Screen(person, [program("codex"), "--no-daemon", *waits])
    try:
        screen.shows("fake default")
        yield screen
    finally:
        screen.close()


@pytest.fixture
def gemini(person: Person, model: ModelServer, tmp_path: Path) -> Iterator[Screen]:
    person.environ |= {
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": model.url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    person.configures(
        'agents.default = "small"\n'
        f'[agents.small]\nbackend = "builtin"\nmodel = "fake"\nurl = "{model.openai_url}"\npause = 0.001\n'
    )
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "settings.json").write_text(json.dumps(SETTINGS))
    person.types("install", "gemini", "--yes", "--trust")
    screen = Screen(person, [program("gemini"), "-m", "gemini-2.5-pro"])
    try:
        screen.shows("Type your message", "1 MCP server")
        yield screen
    finally:
        screen.close()


def calling(tool: str, **arguments: Any) -> str:
    return f"CALL {tool} {json.dumps(arguments)}\n"


def starts_slow_work_goes_on_and_quotes_it(screen: Screen, person: Person) -> None:
    gate = Gate(person.cwd / "gate")
    command = calling("run", command="cat gate", name="suite")
    agent = calling("ask", prompt="SAY tide", name="tide")
    screen.prompts(f"{command}{agent}SAY off they go")
    waited_for(lambda: any(line in screen.text() for line in ("• off they go", "✦ off they go")))
    gate.opens("12 passed")
    person.types("wait", "-q", "tide")
    screen.prompts(f"{calling('wait', id='suite')}SAY that was it")
    screen.shows("12 passed", "[end ")


@pytest.mark.spec("A4", "A8", "S2", "S17")
def test_the_loop_in_codex_where_the_person_answers_its_dialog(codex: Screen, person: Person) -> None:
    starts_slow_work_goes_on_and_quotes_it(codex, person)
    precious = person.cwd / "precious"
    precious.touch()

    codex.prompts(f"{calling('run', command='rm -v precious', name='harm')}SAY it is answered")
    codex.shows("rm -v precious", "deletes precious; cannot be undone")
    assert precious.exists()
    codex.shows("1. reject", "2. approve once", "3. always approve")
    codex.presses("2")
    codex.shows("• it is answered")
    person.types("wait", "-q", "harm")
    assert not precious.exists()
    (task,) = [each for each in person.types("ls", "--json").objects if each["name"] == "harm"]
    assert (task["state"], task["door"]) == ("completed", "mcp")

    # What the person closes is left for later: only an answer is a no.
    precious.touch()
    codex.prompts(f"{calling('run', command='rm precious', name='later')}SAY it is left")
    codex.shows("2. approve once")
    codex.presses("Escape")
    codex.shows("• it is left")
    (task,) = [each for each in person.types("ls", "--json").objects if each["name"] == "later"]
    assert (task["state"], precious.exists()) == ("proposed", True)

    # What is approved elsewhere needs no answer here any more.
    codex.prompts(f"{calling('run', command='rm -v precious', name='elsewhere')}SAY it goes on")
    codex.shows("2. approve once")
    person.types("approve", "--wait", "elsewhere")
    codex.shows("• it goes on")
    assert not precious.exists()

    fork = calling("ask", prompt="RECALL it is answered", fork=True, name="copy")
    codex.prompts(f"{fork}{calling('wait', id='copy')}SAY forked")
    codex.shows("• forked")
    assert person.types("show", "--json", "copy").object["answer"] == "recalled"


@pytest.mark.spec("A4", "A8", "S2")
def test_the_loop_in_gemini_where_the_person_answers_elsewhere(gemini: Screen, person: Person) -> None:
    starts_slow_work_goes_on_and_quotes_it(gemini, person)
    precious = person.cwd / "precious"
    precious.touch()

    gemini.prompts(f"{calling('run', command='rm -v precious', name='harm')}SAY it is asked")
    gemini.shows("It waits for a person's approval", "✦ it is asked")
    assert precious.exists()
    person.types("approve", "--wait", "harm")
    gemini.prompts(f"{calling('wait', id='harm')}SAY so it is")
    gemini.shows("removed 'precious'", "✦ so it is")

    again = calling("ask", prompt="RECALL SAY tide", resume="tide", wait=120_000)
    gemini.prompts(f"{again}SAY resumed")
    gemini.shows("recalled", "✦ resumed")
