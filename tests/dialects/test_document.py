"""The page about dialects has every tool with its parameters and defaults, and every word for every state."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from errands import dialects
from errands.dialects import projections
from errands.ports.dialect import Caller, Tool
from tests.dialects.views import standing, view
from tests.documents import ROOT

TEXT = (ROOT / "docs" / "reference" / "dialects.md").read_text()
STATES = {
    "proposed": view("proposed", "pending"),
    "pending": view("active", "pending"),
    "running": view("active", "running"),
    "resumed": view("active", "running", cause="resume", kind="agent"),
    "completed": view("done", "completed"),
    "failed": view("failed", "failed"),
    "cancelled": view("cancelled", "cancelled"),
    "skipped": view("failed", "skipped"),
    "rejected": view("rejected", "cancelled"),
    "recurring: proposed": standing("proposed", "pending", number=0),
    "recurring: active, waits": standing("active", "completed"),
    "recurring: active, runs": standing("active", "running"),
    "recurring: paused": standing("paused", "failed"),
    "recurring: done": standing("done", "completed"),
    "recurring: failed": standing("failed", "failed"),
    "recurring: cancelled": standing("cancelled", "completed"),
}


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def signature(tool: Tool) -> str:
    """Write a tool as it is called: `name(needed, may_be_left_out?, has_a_default=1)`."""

    def written(name: str, wanted: dict[str, Any]) -> str:
        if name in tool.parameters.get("required", ()):
            return name
        return f"{name}={json.dumps(wanted['default'])}" if "default" in wanted else f"{name}?"

    properties = tool.parameters["properties"].items()
    # What is needed comes first, as it does in a call.
    told = [written(name, wanted) for name, wanted in properties]
    needed = [each for each in told if each in tool.parameters.get("required", ())]
    return f"{tool.name}({', '.join([*needed, *(each for each in told if each not in needed)])})"


@pytest.mark.parametrize("name", dialects.BUILT_IN)
def test_every_tool_is_documented_as_it_is_called(name: str) -> None:
    tools = dialects.named(name).tools(Caller(session="chat", cwd="/", door="mcp", conversation="talk"))
    assert [cells[0].strip("`") for cells in rows(name)] == [signature(tool) for tool in tools]


def test_every_word_is_documented() -> None:
    table = rows("Names of states")
    assert [cells[0] for cells in table] == list(STATES)
    for ours, in_opencode, in_co, in_egirl, in_claude in table:
        shown = STATES[ours]
        assert projections.opencode(shown) == in_opencode
        assert projections.co(shown) == in_co
        task, run = projections.egirl(shown), projections.egirl_run(shown.latest.state)
        assert f"{task or '-'}, {run or '-'}" == in_egirl
        assert projections.claude(shown) == in_claude


def test_every_icon_is_documented() -> None:
    found = dict(re.findall(r"(\S) (running|completed|error|cancelled|pending)\b", section("claude")))
    assert {word: icon for icon, word in found.items()} == projections.ICONS


def test_the_bounds_are_documented() -> None:
    assert "0 to 600000 milliseconds" in TEXT
