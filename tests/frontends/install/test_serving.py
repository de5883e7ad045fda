"""The server as an installed client starts it: which tasks it serves, and that its promises are true."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.frontends.cli.person import COMMAND, Person


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    place = tmp_path_factory.mktemp("serving")
    person = Person(place / "errands", place)
    yield person
    person.leaves()


def called(person: Person, client: str, *calls: dict[str, Any], **environ: str) -> list[str]:
    """Start the server as a client does, initialize it, and call `run` some times; return the replies."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": client, "version": "1"},
    }
    messages = [
        {"id": 0, "method": "initialize", "params": hello},
        *(
            {"id": number, "method": "tools/call", "params": {"name": "run", "arguments": arguments}}
            for number, arguments in enumerate(calls, 1)
        ),
    ]
    replies = []
    with subprocess.Popen(
        [*COMMAND, "client", client, "mcp", "--dialect", "native"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=person.cwd,
        env={**person.environ, **environ},
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            if message["id"] == 0:
                server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            server.stdin.flush()
            while (said := json.loads(server.stdout.readline())).get("id") != message["id"]:
                pass
            replies.append(said["result"])
        server.stdin.close()
    return [reply["content"][0]["text"] for reply in replies[1:]]


def parents(person: Person) -> dict[str, tuple[str, str]]:
    return {each["name"]: (each["parent"], each["owner"]) for each in person.types("ls", "--json").objects}


@pytest.mark.spec("N8", "X5")
@pytest.mark.trap(7)
def test_claude_code_is_promised_to_be_woken_only_if_it_will_be(person: Person) -> None:
    session = {"CLAUDE_CODE_SESSION_ID": "one", "CLAUDE_CODE_ENTRYPOINT": "cli"}

    (woken,) = called(person, "claude", {"command": "true", "name": "woken"}, **session)
    (single,) = called(
        person,
        "claude",
        {"command": "true", "name": "single"},
        **{**session, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"},
    )
    (nameless,) = called(person, "claude", {"command": "true", "name": "nameless"})

    assert "You will be told when it ends; do not poll." in woken
    assert "Nothing will tell you when it ends; ask with wait" in single
    assert "Nothing will tell you when it ends; ask with wait" in nameless
    found = parents(person)
    assert {name: found[name] for name in ("woken", "single", "nameless")} == {
        "woken": ("claude:one", "claude:one"),
        "single": ("claude:one", "user"),
        "nameless": (f"mcp:claude:{person.cwd}", "user"),
    }


@pytest.mark.spec("N8", "X5")
@pytest.mark.trap(5)
def test_a_task_belongs_to_the_session_that_the_hook_names(person: Person) -> None:
    """After /clear, Claude Code has another session than the one its server was started in."""
    begun = {"CLAUDE_CODE_SESSION_ID": "before-1", "CLAUDE_PLUGIN_ROOT": "/plugin"}

    cleared, unhooked = called(
        person,
        "claude",
        {"command": "true", "name": "cleared", "_session": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"},
        {"command": "true", "name": "unhooked"},
        **begun,
    )

    assert "You will be told when it ends" in cleared
    assert "Nothing will tell you when it ends" in unhooked  # without hooks, nothing wakes it either
    found = parents(person)
    assert found["cleared"] == ("claude:6f9619ff-8b86-4d01-b42d-00cf4fc964ff",) * 2
    assert found["unhooked"] == ("claude:before-1", "user")
