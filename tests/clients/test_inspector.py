"""The MCP Inspector lists and calls every tool of every dialect, in both eras of the protocol."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from errands.dialects import BUILT_IN, named
from errands.ports.dialect import Caller
from tests.clients.programs import program

ERAS = ("legacy", "modern")
TOKEN = "a token that only this test knows"
WITHIN = 60.0  # seconds
_PATIENT = ("--connect-timeout", "100000")  # a server starts slowly on a busy machine
HELLO = "`echo hello`"
CLOCK = {
    "name": "clock",
    "description": "tells the time",
    "prompt": "tick",
    "kind": "scheduled",
    "interval": "1h",
}
GREETER = {"name": "greeter", "description": "says hello", "prompt": HELLO, "kind": "oneshot"}


@dataclass(frozen=True)
class Step:
    """One call and its expected reply, whose task id is kept under a name for later calls."""

    tool: str
    given: dict[str, Any]
    said: str
    keep: str = ""
    is_repeated: bool = False  # until the reply matches


STEPS = {
    "native": (
        Step("run", {"command": "sleep 600"}, "sleep 600", keep="{it}"),
        Step("ask", {"prompt": HELLO, "agent": "offline", "wait": 20_000}, "hello"),
        Step("tasks", {}, "{it}"),
        Step("show", {"id": "{it}"}, '"state": "running"'),
        Step("output", {"id": "{it}"}, '"state": "running"'),
        Step("wait", {"id": "{it}", "timeout": 10}, '"state": "running"'),
        Step("lanes", {}, '"name": "shell"'),
        Step("run", {"command": "echo later", "after": ["{it}"]}, '"state": "pending"', keep="{later}"),
        Step("edit", {"id": "{later}", "command": "echo sooner"}, "echo sooner"),
        Step("control", {"id": "{it}", "action": "pause"}, '"paused_at"'),
        Step("cancel", {"id": "{it}"}, '"state": "cancelled"'),
    ),
    "opencode": (
        Step(
            "background_task",
            {"prompt": HELLO, "agent": "offline", "description": "greet"},
            "Background task launched.",
            keep="{it}",
        ),
        Step("background_output", {"task_id": "{it}", "block": True}, "hello"),
        Step("background_list", {}, "{it} - completed"),
        Step("background_resume", {"task_id": "{it}", "message": "`echo again`", "block": True}, "again"),
        Step("background_clear", {"task_id": "{it}"}, "Cleared: {it}"),
        Step(
            "background_task",
            {"prompt": "`sleep 600`", "agent": "offline", "description": "sleep"},
            "Background task launched.",
            keep="{other}",
        ),
        Step("background_cancel", {"task_id": "{other}"}, "Task {other}: cancelled"),
        Step("background_shell", {"command": "echo hello"}, "Background command launched."),
    ),
    "claude": (
        Step("Bash", {"command": "sleep 600", "run_in_background": True}, "sleep 600", keep="{it}"),
        Step(
            "Task",
            {"description": "greet", "prompt": HELLO, "subagent_type": "offline"},
            "hello",
            keep="{other}",
        ),
        Step("SendMessage", {"to": "{other}", "message": HELLO}, "Background Task Started"),
        Step("TaskOutput", {"task_id": "{it}", "block": False}, '"status": "running"'),
        Step("tasks", {}, "{it}"),
        Step("KillShell", {"shell_id": "{it}"}, '"status": "cancelled"'),
    ),
    "co": (
        Step(
            "start_background_task", {"command": "sleep 600", "description": "sleep"}, "Started", keep="{it}"
        ),
        Step("check_task_status", {"task_id": "{it}"}, '"status": "running"', is_repeated=True),
        Step("list_background_tasks", {}, "{it}"),
        Step("cancel_background_task", {"task_id": "{it}"}, '"status": "cancelled"'),
    ),
    "egirl": (
        Step("task_add", GREETER, "Task added: greeter", keep="{it}"),
        Step("task_propose", GREETER, '"status": "proposed"', keep="{other}"),
        Step("task_list", {}, "{it} [done", is_repeated=True),
        Step("task_run_now", {"task_id": "{it}"}, "Task started: greeter"),
        Step("task_cancel", {"task_id": "{other}"}, "Task cancelled: {other}"),
        Step("task_add", CLOCK, "Task added: clock", keep="{clock}"),
        Step("task_pause", {"task_id": "{clock}"}, "Task paused: clock"),
        Step("task_resume", {"task_id": "{clock}"}, "Task resumed: clock"),
    ),
}
PAIRS = [(dialect, era) for dialect in BUILT_IN for era in ERAS]


def names(dialect: str) -> list[str]:
    return [each.name for each in named(dialect).tools(Caller(session="s", cwd="/", door="mcp"))]


def inspect(*words: str, era: str) -> dict[str, Any]:
    """Run the Inspector, which prints one object."""
    run = subprocess.run(
        [
            program("mcp-inspector"),
            "--cli",
            *_PATIENT,
            "--protocol-era",
            era,
            "--format",
            "json",
            "-q",
            *words,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    result: dict[str, Any] = json.loads(run.stdout)["result"]
    return result


def listed(folder: Path, dialect: str, era: str) -> list[str]:
    """List tools over stdio; the Inspector starts the server, and with --strict complains of odd schemas."""
    server = (sys.executable, "-m", "errands", "mcp", "--dialect", dialect)
    env = ("-e", f"ERRANDS_HOME={folder / 'home'}", "--cwd", str(folder))
    found = inspect(*env, "--method", "tools/list", "--strict", "--", *server, era=era)
    return [each["name"] for each in found["tools"]]


def call_all(url: str, dialect: str, era: str) -> None:
    """Take the steps of a dialect, over HTTP and in a session of their own."""
    kept: dict[str, str] = {}

    def filled(text: str) -> str:
        for name, task_id in kept.items():
            text = text.replace(name, task_id)
        return text

    for step in STEPS[dialect]:
        head = ("--header", f"Authorization: Bearer {TOKEN}", f"Errands-Session: {dialect}-{era}")
        given = filled(json.dumps(step.given))
        words = ("--method", "tools/call", "--tool-name", step.tool, "--tool-args-json", given)
        deadline = time.monotonic() + WITHIN
        while True:
            reply = inspect(url, *head, *words, era=era)
            told = json.dumps(reply)
            if not step.is_repeated or filled(step.said) in told or time.monotonic() > deadline:
                break
        assert reply["isError"] is False, f"{step.tool}: {told}"
        assert filled(step.said) in told, f"{step.tool}: {told}"
        if step.keep:
            kept[step.keep] = id_in(reply)


def id_in(reply: dict[str, Any]) -> str:
    plain = reply.get("structuredContent") or {}
    task_id = plain.get("id") or plain.get("task_id")
    if task_id is None:  # some dialects only return text
        found = re.search(r"^Task ID: (\S+)$", reply["content"][0]["text"], re.MULTILINE)
        assert found is not None, reply
        task_id = found[1]
    return str(task_id)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inspected")


@pytest.fixture(scope="module")
def urls(folder: Path) -> Iterator[dict[str, str]]:
    """Serve every dialect, all of them in one home."""
    environ = {**os.environ, "ERRANDS_HOME": str(folder / "home"), "ERRANDS_MCP_TOKEN": TOKEN}
    environ["XDG_CONFIG_HOME"] = str(folder / "config")
    with ExitStack() as stack:
        servers = {}
        for dialect in BUILT_IN:
            words = [sys.executable, "-m", "errands", "mcp", "--http", "127.0.0.1:0", "--dialect", dialect]
            server = subprocess.Popen(words, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True)
            servers[dialect] = stack.enter_context(server)
            stack.callback(server.terminate)
        yield {
            dialect: server.stdout.readline().strip() for dialect, server in servers.items() if server.stdout
        }
    stop = [sys.executable, "-m", "errands", "daemon", "stop"]
    subprocess.run(stop, env=environ, check=False, capture_output=True)


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    program("mcp-inspector")
    pool = ThreadPoolExecutor(4)
    yield pool
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def calls(urls: dict[str, str], pool: ThreadPoolExecutor) -> dict[tuple[str, str], Future[None]]:
    """Call everything side by side: most of the time goes into starting the Inspector."""
    return {(dialect, era): pool.submit(call_all, urls[dialect], dialect, era) for dialect, era in PAIRS}


@pytest.fixture(scope="module")
def lists(folder: Path, pool: ThreadPoolExecutor) -> dict[tuple[str, str], Future[list[str]]]:
    return {(dialect, era): pool.submit(listed, folder, dialect, era) for dialect, era in PAIRS}


@pytest.mark.spec("X5")
@pytest.mark.timeout(280)
@pytest.mark.parametrize(("dialect", "era"), PAIRS)
def test_the_inspector_calls_every_tool(
    dialect: str, era: str, calls: dict[tuple[str, str], Future[None]]
) -> None:
    assert {step.tool for step in STEPS[dialect]} == set(names(dialect))

    calls[dialect, era].result()


@pytest.mark.spec("X5")
@pytest.mark.timeout(280)
@pytest.mark.parametrize(("dialect", "era"), PAIRS)
def test_the_inspector_lists_every_tool_and_finds_it_portable(
    dialect: str, era: str, lists: dict[tuple[str, str], Future[list[str]]]
) -> None:
    assert lists[dialect, era].result() == names(dialect)
