"""The real Gemini CLI after `errands install gemini`: it starts slow work, goes on, and quotes the result."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import PLACE, program, ran
from tests.frontends.cli.person import Person
from tests.model_server import ModelServer

SETTINGS = """{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false}, // mine
  "general": {"enableAutoUpdate": false}
}"""


@pytest.fixture(scope="module")
def person(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person who has installed Errands for Gemini CLI, and trusts it and the folder."""
    program("gemini")
    place = tmp_path_factory.mktemp("gemini")
    person = Person(place / "errands", place / "project")
    person.cwd.mkdir()
    person.environ |= {
        "HOME": str(place),
        "PATH": f"{PLACE}:{os.environ['PATH']}",  # the Node.js that it needs
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": model.url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    settings(person).parent.mkdir()
    settings(person).write_text(SETTINGS)
    person.configures(
        'agents.default = "small"\n'
        f'[agents.small]\nbackend = "builtin"\nmodel = "fake"\nurl = "{model.openai_url}"\npause = 0.001\n'
    )
    person.types("install", "gemini", "--yes", "--trust")
    yield person
    person.leaves()


def settings(person: Person) -> Path:
    return Path(person.environ["HOME"]) / ".gemini" / "settings.json"


def says(person: Person, prompt: str) -> str:
    """Let Gemini CLI answer a prompt; return its words."""
    argv = [program("gemini"), "-m", "gemini-2.5-pro", "-o", "json", "-p", prompt]
    return str(json.loads(ran(argv, cwd=person.cwd, env=person.environ))["response"])


def calling(tool: str, **arguments: Any) -> str:
    return f"CALL {tool} {json.dumps(arguments)}\n"


@pytest.mark.spec("X19", "A4", "A8")
def test_it_starts_commands_goes_on_asks_and_quotes_the_result(person: Person) -> None:
    precious = person.cwd / "precious"
    precious.touch()
    launch = calling("run", command="sleep 1; printf '%s passed' 12", name="tests")
    harm = calling("run", command="rm -v precious", name="harm")

    assert says(person, f"{launch}{harm}SAY meanwhile, 2 and 2 is 4") == "meanwhile, 2 and 2 is 4"

    tasks = {each["name"]: each for each in person.types("ls", "--json").objects}
    # It has no form for a person, so the harmful one waits for them elsewhere.
    assert (tasks["harm"]["state"], precious.exists()) == ("proposed", True)
    person.types("approve", "--wait", tasks["harm"]["id"])
    assert not precious.exists()
    # The result is in the same turn, as the model reads it.
    assert "12 passed" in says(person, calling("wait", id=tasks["tests"]["id"]))
    assert "removed" in says(person, calling("wait", id=tasks["harm"]["id"]))


@pytest.mark.spec("X19", "S2", "S17")
def test_it_starts_an_agent_goes_on_quotes_it_and_asks_it_again(person: Person, model: ModelServer) -> None:
    launch = calling("ask", prompt="SAY the code word is heron", name="agent")

    assert says(person, f"{launch}SAY meanwhile") == "meanwhile"

    (agent,) = [each for each in person.types("ls", "--json").objects if each["name"] == "agent"]
    assert "the code word is heron" in says(person, calling("wait", id=agent["id"]))
    again = calling("ask", prompt="RECALL code word is heron", resume=agent["id"], wait=120_000)
    assert "recalled" in says(person, again)
    assert person.sees(agent["id"])["resume_count"] == 1
    # It does not say which conversation calls, so a fork is not offered.
    asked = next(each for each in model.asked_for("the code word is heron") if "gemini" in each.path)
    assert '"resume"' in asked.text
    assert '"fork"' not in asked.text


@pytest.mark.spec("X19")
def test_without_trust_no_tool_is_offered_and_uninstalling_restores_the_file(
    person: Person, model: ModelServer
) -> None:
    assert any(each.endswith("errands_run") for each in model.asked[-1].offers)

    person.types("install", "gemini", "--yes", "--no-trust")
    says(person, "SAY nothing")
    assert not any("errands" in each for each in model.asked[-1].offers)

    person.types("uninstall", "gemini", "--yes")
    assert settings(person).read_text() == SETTINGS
