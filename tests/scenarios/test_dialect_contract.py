"""Every dialect keeps the contract, whatever way its calls are carried."""

from __future__ import annotations

import pytest

from errands.testing.contracts.dialect import ID, Call, DialectContract

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.spec("X5")
class TestNative(DialectContract):
    dialect = "native"
    rest = 'output {"id": '
    minimal = {
        "run": {"command": "true"},
        "ask": {"prompt": "hello"},
        "tasks": {},
        "show": {"id": ID},
        "output": {"id": ID},
        "wait": {"id": ID},
        "cancel": {"id": ID},
        "control": {"id": ID, "action": "pause"},
        "edit": {"id": ID, "name": "other"},
        "lanes": {},
    }

    def launch(self, line: str) -> Call:
        return "run", {"command": line}

    def look(self, task_id: str) -> Call:
        return "output", {"id": task_id}

    def listing(self) -> Call:
        return "tasks", {}

    def cancelling(self, task_id: str) -> Call:
        return "cancel", {"id": task_id}


@pytest.mark.spec("X1")
class TestOpenCode(DialectContract):
    dialect = "opencode"
    minimal = {
        "background_task": {"description": "say hello", "prompt": "hello", "agent": "offline"},
        "background_shell": {"command": "true"},
        "background_output": {"task_id": ID},
        "background_list": {},
        "background_cancel": {"task_id": ID},
        "background_clear": {"task_id": ID},
        "background_resume": {"task_id": ID, "message": "hello"},
    }

    def launch(self, line: str) -> Call:
        return "background_task", {"description": "a task", "prompt": f"`{line}`", "agent": "offline"}

    def look(self, task_id: str) -> Call:
        return "background_output", {"task_id": task_id}

    def listing(self) -> Call:
        return "background_list", {}

    def cancelling(self, task_id: str) -> Call:
        return "background_cancel", {"task_id": task_id}


@pytest.mark.spec("X2")
class TestClaude(DialectContract):
    dialect = "claude"
    minimal = {
        "Task": {"description": "say hello", "prompt": "hello", "subagent_type": "offline"},
        "Bash": {"command": "true"},
        "TaskOutput": {"task_id": ID},
        "SendMessage": {"to": ID, "message": "and then?"},
        "KillShell": {"shell_id": ID},
        "tasks": {},
    }

    def launch(self, line: str) -> Call:
        return "Bash", {"command": line, "run_in_background": True}

    def look(self, task_id: str) -> Call:
        return "TaskOutput", {"task_id": task_id, "block": False}

    def listing(self) -> Call:
        return "tasks", {}

    def cancelling(self, task_id: str) -> Call:
        return "KillShell", {"shell_id": task_id}


@pytest.mark.spec("X3")
class TestCo(DialectContract):
    dialect = "co"
    minimal = {
        "start_background_task": {"command": "true", "description": "do nothing"},
        "check_task_status": {"task_id": ID},
        "cancel_background_task": {"task_id": ID},
        "list_background_tasks": {},
    }

    def launch(self, line: str) -> Call:
        return "start_background_task", {"command": line, "description": "a task"}

    def look(self, task_id: str) -> Call:
        return "check_task_status", {"task_id": task_id}

    def listing(self) -> Call:
        return "list_background_tasks", {}

    def cancelling(self, task_id: str) -> Call:
        return "cancel_background_task", {"task_id": task_id}


@pytest.mark.spec("X4")
class TestEgirl(DialectContract):
    dialect = "egirl"
    minimal = {
        "task_add": {"name": "x", "description": "x", "prompt": "hello", "kind": "oneshot"},
        "task_propose": {"name": "x", "description": "x", "prompt": "hello", "kind": "oneshot"},
        "task_list": {},
        "task_pause": {"task_id": ID},
        "task_resume": {"task_id": ID},
        "task_cancel": {"task_id": ID},
        "task_run_now": {"task_id": ID},
    }

    def launch(self, line: str) -> Call:
        return "task_add", {"name": "x", "description": "a task", "prompt": f"`{line}`", "kind": "oneshot"}

    def look(self, task_id: str) -> Call:
        return "task_list", {}

    def listing(self) -> Call:
        return "task_list", {}

    def cancelling(self, task_id: str) -> Call:
        return "task_cancel", {"task_id": task_id}
