"""The server as a process: it prints nothing but messages, and may be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from errands import bootstrap
from errands.bootstrap import open_engine, open_home
from errands.engine.waiting import wait
from errands.frontends.cli import verbs
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import parse
from errands.model.errors import BadValue
from errands.model.view import View
from errands.ports.home import Home
from tests.engine.agent_project import Project
from tests.engine.daemons import Daemons, eventually
from tests.frontends.mcp.process import WITHIN, Served
from tests.gate import Gate

pytestmark = pytest.mark.spec("X5")


@pytest.fixture
def daemons(own_home: Path) -> Iterator[Daemons]:
    found = Daemons(open_home(str(own_home)))
    yield found
    found.end()


def task(home: Path, task_id: str) -> View:
    engine = open_engine(Home(path=str(home)))
    try:
        wait(engine, [task_id], timeout=WITHIN)
        return engine.get(task_id)
    finally:
        engine.close()


@pytest.mark.spec("L21")
def test_a_task_outlives_its_client(daemons: Daemons, tmp_path: Path, own_home: Path) -> None:
    with Served(tmp_path) as server:
        launched = server.call("run", command="sleep 1; echo done")["structuredContent"]["id"]
        assert server.hang_up() == 0

    assert task(own_home, launched).state == "completed"


@pytest.mark.spec("L21")
@pytest.mark.trap(71)
def test_a_task_survives_the_death_of_the_server_and_of_the_daemon(daemons: Daemons, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    with Served(tmp_path) as server:
        answer = server.call("run", command=f"cat {gate.path}; echo all is well", wait=60_000)
        assert answer["resultType"] == "task"
        eventually(lambda: "running" in server.call("tasks")["content"][0]["text"])
        server.kill()
    os.kill(daemons.pid, signal.SIGKILL)

    with Served(tmp_path) as server:
        assert "running" in server.call("tasks")["content"][0]["text"]
        gate.opens()
        found = server.ended(answer["taskId"])
        assert found["status"] == "completed"
        assert "all is well" in found["result"]["content"][0]["text"]
        (listed,) = server.call("tasks")["structuredContent"]["tasks"]
        assert listed["state"] == "completed"
        assert "all is well" in server.call("output", id=listed["id"])["content"][0]["text"]
        assert server.ask("tasks/get", taskId=listed["id"])["status"] == "completed"


@pytest.mark.spec("L21")
def test_a_task_is_cancelled_though_the_daemon_has_died(
    daemons: Daemons, tmp_path: Path, own_home: Path
) -> None:
    with Served(tmp_path) as server:
        launched = server.call("run", command="sleep 600")["structuredContent"]["id"]
        server.call("wait", id=launched, timeout=200)
        os.kill(daemons.pid, signal.SIGKILL)
        server.ask("tasks/cancel", taskId=launched)
        assert server.ended(launched)["status"] == "cancelled"

    engine = open_engine(Home(path=str(own_home)))
    (asked,) = [each for each in engine.events(launched) if each.name == "stop requested"]
    assert asked.detail == "agent by-hand"
    engine.close()


def test_a_continued_call_launches_nothing_twice(daemons: Daemons, tmp_path: Path, own_home: Path) -> None:
    project = Project(tmp_path / "project", Path(f"{own_home}-config"))
    place = Path(project.path)
    with Served(place) as server:
        task_id = server.call("run", command="./deed once 3", wait=60_000)["taskId"]
        server.kill()
    with Served(place) as server:
        assert server.ask("tasks/get", taskId=task_id)["status"] == "working"
        server.kill()
    with Served(place) as server:
        assert "did once" in server.ended(task_id)["result"]["content"][0]["text"]
        assert len(server.call("tasks")["structuredContent"]["tasks"]) == 1

    assert project.deeds() == ["once"]


def test_a_listener_is_notified_of_the_end_of_a_task(daemons: Daemons, tmp_path: Path) -> None:
    with Served(tmp_path) as server:
        launched = server.call("run", command="sleep 1")["structuredContent"]["id"]
        number = server.say("subscriptions/listen", notifications={"taskIds": [launched, "nothing-abcdef"]})
        said = server.read()
        assert said["method"] == "notifications/subscriptions/acknowledged"
        assert said["params"]["notifications"]["taskIds"] == [launched, "nothing-abcdef"]
        while (said := server.read())["params"]["status"] == "working":
            pass

    assert said["method"] == "notifications/tasks"
    assert (said["params"]["taskId"], said["params"]["status"]) == (launched, "completed")
    assert said["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == number


NOTHING = b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {}}'
STRANGE = [
    b"",
    b"   ",
    b"nonsense",
    b"{",
    b"[]",
    b"null",
    b"17",
    b'"text"',
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": null, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 1e400, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 99999999999999999999999999, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": 7}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}',
    b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
    b'{"jsonrpc": "2.0", "id": 1, "error": {"code": "x"}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "nobody"}}',
    b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": "far"}}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "__class__"}',
    NOTHING,
    NOTHING.replace(b"{}}", b'{"name": 7}}'),
    NOTHING.replace(b"{}}", b'{"name": "run", "arguments": 7}}'),
    NOTHING.replace(b"{}}", b'{"name": "run", "arguments": {"command": {}}}}'),
    NOTHING.replace(b"{}}", b'{"name": "run", "arguments": {"command": "\\ud800"}}}'),
    NOTHING.replace(b"{}}", b'{"name": "\\ud800", "arguments": {}}}'),
    NOTHING.replace(b"{}}", b'{"name": "show", "arguments": {"id": "\\u0000"}}}'),
    NOTHING.replace(b"{}}", b'{"_meta": 7}}'),
    NOTHING.replace(b"{}}", b'{"_meta": {"io.modelcontextprotocol/protocolVersion": 7}}}'),
    NOTHING.replace(b"{}}", b'{"name": "run", "requestState": "forged", "inputResponses": {}}}'),
    NOTHING.replace(b"tools/call", b"tasks/get").replace(b"{}}", b'{"taskId": {}}}'),
    NOTHING.replace(b"tools/call", b"subscriptions/listen"),
]


METHODS = (
    "tools/list", "tools/call", "tasks/get", "tasks/update", "tasks/cancel", "resources/list",
    "resources/read", "prompts/get", "completion/complete", "subscriptions/listen", "server/discover",
    "initialize",
)  # fmt: skip
PARAMS: tuple[dict[str, Any], ...] = (
    {},
    {"name": "show", "arguments": {"id": "sleep-abcdef"}},
    {"name": "run", "arguments": {"command": "true", "wait": 10}},
    {"taskId": "call-0123456789abcdef", "inputResponses": {"approval-1": {"action": "accept"}}},
    {"uri": "errands://tasks/sleep-abcdef/output?offset=4"},
    {"ref": {"type": "ref/resource", "uri": "errands://tasks"}, "argument": {"name": "id", "value": ""}},
    {"notifications": {"resourceSubscriptions": ["errands://tasks"], "taskIds": ["sleep-abcdef"]}},
)


ODD: tuple[Any, ...] = (None, True, -1, 1e308, "", "x" * 10_000, [], [[]], {}, {"": {}}, "\0", "../..")


def places(thing: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the path of every value in a message."""
    keys = list(thing) if isinstance(thing, dict) else range(len(thing)) if isinstance(thing, list) else ()
    for key in keys:
        yield thing, key
        yield from places(thing[key])


@pytest.mark.fault("F50")
def test_no_input_stops_the_server(tmp_path: Path) -> None:
    with Served(tmp_path) as server:
        server.ask("server/discover")
        for line in STRANGE:
            server.write(line + b"\n")
            assert server.ask("tools/list")["tools"], line

        assert "not found" in server.call("show", id="x" * 1_000_000)["content"][0]["text"]
        assert server.hang_up() == 0


@pytest.mark.fault("F50")
def test_no_mutated_message_stops_the_server(tmp_path: Path) -> None:
    """Valid messages are changed at random places, with a fixed seed."""
    dice = Random(20261115)
    with Served(tmp_path) as server:
        server.ask("server/discover")
        for _ in range(400):
            message = json.loads(json.dumps(server.message(dice.choice(METHODS), **dice.choice(PARAMS))))
            place, key = dice.choice(list(places(message)))
            if dice.random() < 0.3:
                del place[key]
            else:
                place[key] = dice.choice(ODD)
            line = bytearray(json.dumps(message).encode())
            if dice.random() < 0.3:
                line[dice.randrange(len(line))] = dice.choice(b'{}[]",:0\\\x80\xff')
            server.write(bytes(line) + b"\n")
            assert server.ask("tools/list")["tools"], line
        assert server.hang_up() == 0


def test_stray_prints_are_appended_to_the_log(tmp_path: Path) -> None:
    program = (
        "import asyncio, os\n"
        "from errands.frontends.mcp import stdio\n"
        "class Prints:\n"
        "    def create_initialization_options(self): ...\n"
        "    async def run(self, _, said, options):\n"
        "        os.write(1, b'printed')\n"
        "        said.close()\n"
        "asyncio.run(stdio.serve(Prints(), 1000))\n"
    )
    with (tmp_path / "log").open("wb") as log:
        log.write(b"said before\n")
        log.flush()
        run = subprocess.run(
            [sys.executable, "-c", program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
        )

    assert (run.returncode, run.stdout) == (0, b"")
    assert (tmp_path / "log").read_bytes() == b"said before\nprinted"


def test_a_client_that_neither_reads_nor_leaves_does_not_hold_it(tmp_path: Path) -> None:
    with Served(tmp_path) as server:
        for _ in range(20):
            server.say("tools/list")
        assert server.hang_up() == 0


@pytest.mark.fault("F50")
def test_a_message_of_a_hundred_megabytes_costs_no_memory(tmp_path: Path) -> None:
    with Served(tmp_path) as server:
        server.ask("server/discover")
        server.ask("tools/list")
        before = server.most_memory()
        for beginning in (b"", b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "'):
            server.write(beginning)
            for _ in range(100):
                server.write(b"x" * 1024 * 1024)
            server.write(b'"}}\n')
            said = server.read()
            assert (said["id"], said["error"]["message"]) == (None, "the message is too long")
        # The largest accepted message is in memory more than once while it is parsed.
        large = server.call("show", id="x" * 3_500_000)
        assert "not found" in large["content"][0]["text"]

        assert server.most_memory() - before < 64 * 1024 * 1024


def test_a_handwritten_older_client_is_served_too(tmp_path: Path) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by-hand", "version": "1"},
    }
    with Served(tmp_path, "--dialect", "claude") as server:
        server.write(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n"
        )
        assert server.read()["result"]["serverInfo"]["name"] == "errands"
        server.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        server.write(b'{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n')
        assert "Bash" in [each["name"] for each in server.read()["result"]["tools"]]


def test_without_the_extra_one_sentence_says_what_to_install(own_home: Path) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None\nfrom errands.__main__ import run\nsys.exit(run(['mcp']))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        "errands: `errands mcp` needs mcp, which is not installed; "
        "install it with: pip install '.[mcp]' in a clone of Errands\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--dialect klaude", r"unknown dialect 'klaude' \(did you mean claude\?\)"),
        ("127.0.0.1:80", "an address needs --http"),
        ("--http 0.0.0.0:80", "name the one address that clients use"),
        ("--http localhost:http", "is not an address; write HOST:PORT"),
    ],
)
def test_invalid_options_are_refused(words: str, said: str) -> None:
    verb = verbs.load("mcp")

    with pytest.raises(BadValue, match=said):
        verb.run(Context(lambda: bootstrap, os.environ), parse(verb, words.split()))
