"""What the tools declare of themselves: whether they only read, destroy, or may need a person."""

from __future__ import annotations

import pytest

from errands import dialects
from errands.ports.dialect import Caller

ASKS = {
    "native": ["run", "edit"],
    "opencode": ["background_shell"],
    "claude": ["Bash"],
    "co": ["start_background_task"],
    "egirl": ["task_add", "task_propose"],
}
DESTROYS = {
    "native": ["cancel"],
    "opencode": ["background_cancel", "background_clear"],
    "claude": ["KillShell"],
    "co": ["cancel_background_task"],
    "egirl": ["task_cancel"],
}
READS = {
    "native": ["tasks", "show", "output", "wait", "lanes"],
    "opencode": ["background_output", "background_list"],
    "claude": ["TaskOutput", "tasks"],
    "co": ["check_task_status", "list_background_tasks"],
    "egirl": ["task_list"],
}
CALLER = Caller(session="chat", cwd="/", door="mcp")


@pytest.mark.spec("A8")
@pytest.mark.parametrize("name", dialects.BUILT_IN)
def test_a_tool_declares_whether_it_may_need_approval(name: str) -> None:
    tools = dialects.named(name).tools(CALLER)
    assert [tool.name for tool in tools if tool.may_need_approval] == ASKS[name]


@pytest.mark.parametrize("name", dialects.BUILT_IN)
def test_a_tool_declares_what_it_does(name: str) -> None:
    tools = dialects.named(name).tools(CALLER)
    assert [tool.name for tool in tools if tool.destructive] == DESTROYS[name]
    assert [tool.name for tool in tools if tool.reads_only] == READS[name]
