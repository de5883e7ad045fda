"""Details: what is shown of a task when it is the only one that was asked for."""

from __future__ import annotations

from errands.model.action import Prompt
from errands.model.approval import evidence_of
from errands.model.errors import StoreUnreadable
from errands.model.record import fields
from errands.model.trigger import On, as_plain, recurring
from errands.model.view import approval_json, plain_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.engine.engine import Engine
    from errands.model.action import Command
    from errands.model.limits import Limits
    from errands.model.sandbox import Sandbox
    from errands.model.task import Task
    from errands.model.view import View


RECENT = 100  # runs of a standing task that are shown: it may have had a hundred thousand


def details(engine: Engine, task: Task, view: View) -> dict[str, Any]:
    return {
        **_action(engine, task),
        "env": dict(task.action.env),
        "after": list(task.after),
        "waiting_for": [each for each in task.after if view.waits and not engine.store.ended(each)],
        "message": task.message,
        "limits": _limits(task.limits),
        "files": engine.files(view.latest.id),
        "digest": task.digest,
        "evidence": _evidence(task),
        "removed_variables": task.removed.split(),
        "approvals": [approval_json(each) for each in engine.store.approvals(task.id)],
        **_standing(engine, task),
    }


def _standing(engine: Engine, task: Task) -> dict[str, Any]:
    """Say when a standing task runs, and what became of its latest slots."""
    trigger = recurring(task.trigger)
    if trigger is None:
        return {}
    return {
        "trigger": as_plain(trigger),
        "next_runs": [plain_value(each) for each in engine.schedules.coming(task.id)],
        "slots": [
            {name: plain_value(getattr(each, name)) for name in fields(each)}
            for each in engine.schedules.ledger(task.id)
        ],
        "watch": _watch(engine, task),
        "watched": task.action.watch or None,
    }


def _watch(engine: Engine, task: Task) -> dict[str, Any] | None:
    if not isinstance(task.trigger, On):
        return None
    from errands.engine.triggers.watches import watch_json

    return watch_json(engine.store, task.id)


def _action(engine: Engine, task: Task) -> dict[str, Any]:
    """Say what a task does, in plain values."""
    action = task.action
    if isinstance(action, Prompt):
        session = engine.store.session(task.id)
        return {
            "session": None if session is None else session.name,
            "forked_from": action.fork,
            "tools": None if action.tools is None else list(action.tools),
            "depth": action.depth,
            "budget": dict(action.budget),
            "result": engine.store.last_answer(task.id),
        }
    return {
        "commands": [_plain(each) for each in action.commands],
        "before": [_plain(each) for each in action.before],
        "finally": [_plain(each) for each in action.lastly],
        "input": action.input,
        "sandbox": _walls(action.sandbox),
    }


def _plain(command: Command) -> Any:
    return command if isinstance(command, str) else list(command)


def _walls(sandbox: Sandbox | None) -> dict[str, Any] | None:
    return None if sandbox is None else {"writable": list(sandbox.writable), "network": sandbox.network}


def _limits(limits: Limits) -> dict[str, Any]:
    return {
        name: value.total_seconds() if hasattr(value, "total_seconds") else value
        for name in fields(limits)
        if (value := getattr(limits, name)) is not None
    }


def _evidence(task: Task) -> dict[str, Any] | None:
    try:
        found = evidence_of(task)
    except StoreUnreadable:
        return None  # all else can still be shown; `doctor` names it
    return None if found is None else {name: getattr(found, name) for name in fields(found)}
