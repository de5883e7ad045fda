"""The MCP Inspector lists and calls every tool of ours, in both eras of the protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from errands.dialects import BUILT_IN, named
from errands.ports.dialect import Caller
from tests.real.programs import program

ERAS = ("legacy", "modern")
TOKEN = "a token that only this test knows"
# Every tool of the native dialect, with what it is called with; ID is that of a task that sleeps.
ID = "{id}"
CALLS: dict[str, dict[str, Any]] = {
    "run": {"command": "sleep 60"},
    "ask": {"prompt": "`echo hello`", "agent": "offline", "wait": 20_000},
    "list": {},
    "show": {"id": ID},
    "output": {"id": ID},
    "wait": {"id": ID, "timeout": 10},
    "cancel": {"id": ID},
}


def names(dialect: str) -> list[str]:
    return [each.name for each in named(dialect).tools(Caller(session="s", cwd="/", door="mcp"))]


def inspect(*words: str, era: str) -> dict[str, Any]:
    """Have the Inspector do something; what it prints is one object."""
    run = subprocess.run(
        [program("mcp-inspector"), "--cli", "--protocol-era", era, "--format", "json", "-q", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    result: dict[str, Any] = json.loads(run.stdout)["result"]
    return result


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("inspected")
    environ = {**os.environ, "ERRANDS_HOME": str(folder / "home"), "ERRANDS_MCP_TOKEN": TOKEN}
    environ["XDG_CONFIG_HOME"] = str(folder / "config")
    words = [sys.executable, "-m", "errands", "mcp", "--http", "127.0.0.1:0"]
    with subprocess.Popen(words, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
            server.wait(20)
            stop = [sys.executable, "-m", "errands", "daemon", "stop"]
            subprocess.run(stop, env=environ, check=False, capture_output=True)


@pytest.mark.spec("X5")
@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_calls_every_tool(era: str, url: str) -> None:
    def call(tool: str, task_id: str = "") -> dict[str, Any]:
        given = {name: task_id if value == ID else value for name, value in CALLS[tool].items()}
        head = ("--header", f"Authorization: Bearer {TOKEN}", f"Errands-Session: {era}")
        words = ("--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(given))
        return inspect(url, *head, *words, era=era)

    assert list(CALLS) == names("native")
    launched = call("run")["structuredContent"]["id"]
    between = [tool for tool in CALLS if tool not in ("run", "cancel")]
    with ThreadPoolExecutor(3) as pool:
        found = dict(zip(between, pool.map(lambda tool: call(tool, launched), between), strict=True))

    assert "hello" in found["ask"]["content"][0]["text"]
    assert launched in [each["id"] for each in found["list"]["structuredContent"]["tasks"]]
    assert {found[tool]["structuredContent"]["state"] for tool in ("show", "output", "wait")} == {"running"}
    assert call("cancel", launched)["structuredContent"]["state"] == "cancelled"


@pytest.mark.spec("X5")
def test_the_inspector_finds_the_tools_of_every_dialect_portable(tmp_path: Path) -> None:
    """Each is started by the Inspector itself, over stdio; with --strict it complains of odd schemas."""

    def listed(task: tuple[str, str]) -> list[str]:
        dialect, era = task
        server = (sys.executable, "-m", "errands", "mcp", "--dialect", dialect)
        env = ("-e", f"ERRANDS_HOME={tmp_path / 'home'}", "--cwd", str(tmp_path))
        found = inspect(*env, "--method", "tools/list", "--strict", "--", *server, era=era)
        return [each["name"] for each in found["tools"]]

    # What is listed does not depend on the era, as the first one shows.
    tasks = [("native", "legacy"), *((dialect, "modern") for dialect in BUILT_IN)]
    with ThreadPoolExecutor(3) as pool:
        found = dict(zip(tasks, pool.map(listed, tasks), strict=True))

    assert found == {(dialect, era): names(dialect) for dialect, era in tasks}
