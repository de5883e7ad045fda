"""The real Codex after `errands install codex`: it starts slow work, goes on, asks for it and quotes it."""

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

CONFIG = """\
# mine
model = "fake"
model_provider = "fake"

[model_providers.fake]
name = "Fake"
base_url = "{url}"
wire_api = "responses\""""

# An agent that holds the one place of its lane until it is given something.
BLOCKING = 'lanes.agent = 1\n[agents.blocking]\nbackend = "command"\ncommand = ["cat", "gate"]\n'


@pytest.fixture(scope="module")
def person(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person who has installed Errands for Codex, and lets it use the tools unasked."""
    program("codex")
    place = tmp_path_factory.mktemp("codex")
    person = Person(place / "errands", place / "project")
    person.cwd.mkdir()
    person.environ |= {"HOME": str(place), "CODEX_HOME": str(place / ".codex")}
    person.environ["PATH"] = f"{PLACE}:{os.environ['PATH']}"  # where its background agents find Codex
    person.configures(BLOCKING)
    os.mkfifo(person.cwd / "gate")
    config(person).parent.mkdir()
    config(person).write_text(CONFIG.format(url=model.openai_url))
    # Without a home of its own in the configuration: Codex has to pass on the variables.
    person.types("install", "codex", "--yes", "--trust", ERRANDS_HOME="")
    yield person
    person.leaves()


def config(person: Person) -> Path:
    return Path(person.environ["CODEX_HOME"]) / "config.toml"


def executed(person: Person, prompt: str, *words: str) -> tuple[str, list[str], str]:
    """Let Codex answer a prompt; return its thread, the results of its tool calls, and its last words."""
    # It waits for the server then, which takes longer than usual on a busy machine.
    waits = ("-c", "mcp_servers.errands.required=true", "-c", "mcp_servers.errands.startup_timeout_sec=60")
    argv = [program("codex"), "exec", *words, "--json", "--skip-git-repo-check", *waits, prompt]
    said = ran(argv, cwd=person.cwd, env=person.environ)
    events: list[dict[str, Any]] = [json.loads(line) for line in said.splitlines() if line[:1] == "{"]
    (thread,) = [each["thread_id"] for each in events if each["type"] == "thread.started"]
    items = [each["item"] for each in events if each["type"] == "item.completed"]
    calls = [each for each in items if each["type"] == "mcp_tool_call"]
    results = [each["result"]["content"][0]["text"] if each["result"] else "refused" for each in calls]
    return thread, results, [each["text"] for each in items if each["type"] == "agent_message"][-1]


def calling(tool: str, **arguments: Any) -> str:
    return f"CALL {tool} {json.dumps(arguments)}\n"


@pytest.mark.spec("X19")
def test_it_starts_a_command_goes_on_asks_and_quotes_the_result(person: Person) -> None:
    launch = calling("run", command="sleep 1; printf '%s passed' 12", name="tests")

    thread, (reply,), said = executed(person, f"{launch}SAY meanwhile, 2 and 2 is 4")

    assert said == "meanwhile, 2 and 2 is 4"
    (task,) = person.types("ls", "--json").objects  # in the home that the person's own shell has
    assert task["name"] == "tests"
    assert task["id"] in reply
    assert "wait" in reply
    _, (ended,), _ = executed(person, calling("wait", id=task["id"]), "resume", thread)
    assert "12 passed" in ended
    assert executed(person, "RECALL 12 passed", "resume", thread) == (thread, [], "recalled")


@pytest.mark.spec("X19", "S2", "S4")
def test_it_starts_an_agent_goes_on_quotes_it_and_asks_it_again(person: Person, model: ModelServer) -> None:
    launch = calling("ask", prompt="SAY the code word is heron", name="agent")

    thread, (reply,), said = executed(person, f"{launch}SAY meanwhile")

    assert said == "meanwhile"
    (agent,) = [each for each in person.types("ls", "--json").objects if each["name"] == "agent"]
    assert (agent["id"] in reply, agent["agent"]) == (True, "codex")  # Codex itself, with its own model
    _, (ended,), _ = executed(person, calling("wait", id=agent["id"]), "resume", thread)
    assert "the code word is heron" in ended
    assert executed(person, "RECALL code word is heron", "resume", thread) == (thread, [], "recalled")

    again = calling("ask", prompt="RECALL code word is heron", resume=agent["id"], wait=120_000)
    _, (answer,), _ = executed(person, again, "resume", thread)

    assert "recalled" in answer
    assert person.sees(agent["id"])["resume_count"] == 1


@pytest.mark.spec("X19", "A4", "A5", "A8")
def test_a_harmful_command_is_left_for_a_person_who_approves_it(person: Person) -> None:
    """`codex exec` declines a form by itself, and at once."""
    precious = person.cwd / "precious"
    precious.touch()

    launch = calling("run", command="rm -v precious", name="harm")
    thread, (reply,), _ = executed(person, f"{launch}SAY ok")

    (task,) = [each for each in person.types("ls", "--json").objects if each["name"] == "harm"]
    assert (task["state"], precious.exists()) == ("proposed", True)
    assert f"errands approve {task['id']}" in reply
    person.types("approve", "--wait", task["id"])
    assert not precious.exists()
    _, (ended,), _ = executed(person, calling("wait", id=task["id"]), "resume", thread)
    assert "removed 'precious'" in ended


@pytest.mark.spec("S8", "S17", "X5")
def test_it_forks_its_conversation_as_it_was_when_it_asked_for_it(person: Person, model: ModelServer) -> None:
    """The fork waits until the conversation has gone on, and does not know how."""
    known = len(model.asked)  # other tests ask the same model
    blocking = person.types("ask", "-q", "--agent", "blocking", "hold the lane").out.strip()
    person.waits_until(blocking, "state", "running")
    thread, _, _ = executed(person, "SAY marmalade")
    fork = calling("ask", prompt="RECALL marmalade", fork=True, name="fork")

    _, (reply,), _ = executed(person, f"{fork}SAY meanwhile", "resume", thread)
    executed(person, "SAY honey", "resume", thread)

    forks = [each for each in person.types("ls", "--json").objects if each["name"] == "fork"]
    assert [each["id"] in reply for each in forks] == [True], reply
    (task,) = forks
    assert (task["state"], task["parent"], task["agent"]) == ("pending", f"codex:{thread}", "codex")
    (person.cwd / "gate").write_text("go on")
    _, (ended,), _ = executed(person, calling("wait", id=task["id"]), "resume", thread)
    assert "recalled" in ended
    (asked,) = [each for each in model.asked[known:] if each.prompt == "RECALL marmalade"]
    assert "honey" not in asked.text
    # Another conversation has another session, so it does not see the task.
    _, (others,), _ = executed(person, calling("wait", id=task["id"]))
    assert "not found" in others.lower()


@pytest.mark.spec("X19")
def test_without_trust_it_refuses_and_uninstalling_restores_the_file(
    person: Person, model: ModelServer
) -> None:
    person.types("install", "codex", "--yes", "--no-trust", ERRANDS_HOME="")
    before = person.types("ls", "--json").objects

    assert executed(person, f"{calling('run', command='true')}SAY never")[1:] == (["refused"], "never")
    assert len(person.types("ls", "--json").objects) == len(before)

    person.types("uninstall", "codex", "--yes")

    assert config(person).read_text() == CONFIG.format(url=model.openai_url)
