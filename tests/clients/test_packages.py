"""Agents of other people's packages use our server: start slow work, go on, wait for it, quote the result."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from tests.clients.programs import ran
from tests.frontends.cli.person import Person
from tests.model_server import ModelServer

ENVIRONMENTS = Path(__file__).parents[2] / "tools" / "packages"
PROGRAMS = Path(__file__).parent / "packages"
WITHIN = 170.0  # seconds
SERVER = [str(Path(sys.executable).parent / "errands"), "mcp"]
LAUNCH = {"command": "sleep 1; printf '%s passed' 12", "name": "tests"}
PROMPTS = [f"CALL run {json.dumps(LAUNCH)}\nSAY meanwhile", 'CALL wait {"id": "tests"}']


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path / "errands", tmp_path)
    person.environ |= {"HOME": str(tmp_path), "CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}
    # CrewAI puts the server's command before the names of its tools.
    person.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    yield person
    person.leaves()


@pytest.mark.spec("X20")
@pytest.mark.parametrize(
    ("environment", "package"),
    [
        ("agents", "openai_agents"),
        ("agents", "langchain"),
        ("agents", "smolagents"),
        ("crewai", "crewai"),
    ],
)
@pytest.mark.timeout(WITHIN + 10)
def test_an_agent_starts_slow_work_goes_on_and_quotes_the_result(
    person: Person, model: ModelServer, environment: str, package: str
) -> None:
    python = ENVIRONMENTS / environment / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{package} is not installed: run tools/environments")
    given = {
        "command": ["errands", "mcp"],
        "env": person.environ,
        "cwd": str(person.cwd),
        "model": model.openai_url,
        "prompts": PROMPTS,
    }

    argv = [str(python), str(PROGRAMS / f"with_{package}.py"), json.dumps(given)]
    said = ran(argv, cwd=person.cwd, env=person.environ, within=WITHIN)

    first, second = json.loads(said.splitlines()[-1])
    (task,) = person.types("ls", "--json").objects
    # smolagents has no words of its own: it answers with what the tool said.
    assert first == "meanwhile" or task["id"] in first
    assert "12 passed" not in first
    assert "12 passed" in second
    assert (task["name"], task["state"]) == ("tests", "completed")


@pytest.mark.spec("X20")
async def test_fastmcp_starts_slow_work_and_reads_the_result(person: Person) -> None:
    command, *arguments = SERVER
    server = StdioTransport(command, arguments, env=person.environ, cwd=str(person.cwd), keep_alive=False)
    async with Client(server) as client:
        tools = {each.name: each for each in await client.list_tools()}
        launched = await client.call_tool("run", LAUNCH)
        waited = await client.call_tool("wait", {"id": "tests"})

    assert "12 passed" not in str(launched.content)
    assert "12 passed" in str(waited.content)
    assert (waited.structured_content or {})["state"] == "completed"
    hints = {name: each.annotations for name, each in tools.items() if each.annotations is not None}
    assert [name for name, each in hints.items() if each.read_only_hint] == [
        "tasks",
        "show",
        "output",
        "wait",
        "lanes",
    ]
    assert [name for name, each in hints.items() if each.destructive_hint] == ["run", "cancel", "edit"]
