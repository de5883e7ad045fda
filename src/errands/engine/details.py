"""Details: what only the view of a single task includes."""

from __future__ import annotations

from errands.model.action import SHELL, Prompt
from errands.model.approval import evidence_of, is_contained
from errands.model.errors import StoreUnreadable
from errands.model.limits import LIMITS
from errands.model.record import evolve, fields
from errands.model.trigger import On, as_plain, recurring
from errands.model.view import plain_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from errands.engine.core import EngineCore
    from errands.engine.triggers.schedules import Schedules
    from errands.model.approval import Approval
    from errands.model.task import Task
    from errands.model.view import RunView, View
    from errands.ports.store import Store


RECENT = 100  # runs shown of a recurring task, which may have had a hundred thousand


def details(core: EngineCore, schedules: Callable[[], Schedules], task: Task, view: View) -> dict[str, Any]:
    return {
        **_action(core.store, task),
        "env": dict(task.action.env),
        "after": list(task.after),
        "waiting_for": [each for each in task.after if view.waits and not core.store.ended(each)],
        "message": task.message,
        "limits": {name: value for name, value in LIMITS.whole(task.limits).items() if value is not None},
        "files": core.files(view.latest.id),
        "digest": task.digest,
        "evidence": _evidence(task),
        "removed_variables": task.removed.split(),
        "approvals": [approval_json(each) for each in core.store.approvals(task.id)],
        "lost_hosts": _lost_hosts(core.store, task) if task.host else [],
        **_schedule(core, schedules, task),
    }


def with_answers(store: Store, history: Sequence[RunView], task_id: str) -> tuple[RunView, ...]:
    """Return the runs of an agent's task with what each answered and used."""
    said = dict(store.exchanges(task_id))
    return tuple(
        run if (each := said.get(run.number)) is None else evolve(run, result=each.answer, usage=each.usage)
        for run in history
    )


def _lost_hosts(store: Store, task: Task) -> list[dict[str, Any]]:
    """Return the hosts that were lost while they had a run, after which another one took it."""
    from errands.ports.fleet.placement import LOST_HOST

    lost = [each for each in store.events(task.id) if each.name == LOST_HOST]
    return [{"run": each.run, "host": each.detail, "at": plain_value(each.at)} for each in lost]


def _schedule(core: EngineCore, schedules: Callable[[], Schedules], task: Task) -> dict[str, Any]:
    """Return when a recurring task runs, and what became of its latest slots."""
    trigger = recurring(task.trigger)
    if trigger is None:
        return {}
    return {
        "trigger": as_plain(trigger),
        "next_runs": [plain_value(each) for each in schedules().coming(task.id)],
        "slots": [
            {name: plain_value(getattr(each, name)) for name in fields(each)}
            for each in schedules().ledger(task.id)
        ],
        "watch": _watch(core.store, task),
        "watched": task.action.watch or None,
    }


def _watch(store: Store, task: Task) -> dict[str, Any] | None:
    if not isinstance(task.trigger, On):
        return None
    from errands.engine.triggers.watches import watch_json

    return watch_json(store, task.id)


def _action(store: Store, task: Task) -> dict[str, Any]:
    """Return what a task does, as plain values."""
    action = task.action
    if isinstance(action, Prompt):
        session = store.session(task.id)
        return {
            "session": None if session is None else session.name,
            "forked_from": action.fork,
            "tools": None if action.tools is None else list(action.tools),
            "depth": action.depth,
            "budget": dict(action.budget),
            "result": store.last_answer(task.id),
        }
    plain = SHELL.whole(action)
    if is_contained(task):
        from errands.engine.walls.sandbox import contained

        walls = contained(action, {**store.environment(action.environment), **action.env})
        plain["sandbox"] = {"writable": list(walls.writable), "network": walls.network}
    return {
        "commands": plain["commands"],
        "before": plain["before"],
        "finally": plain["lastly"],
        "input": plain["input"],
        "sandbox": plain["sandbox"],
    }


def _evidence(task: Task) -> dict[str, Any] | None:
    try:
        found = evidence_of(task)
    except StoreUnreadable:
        return None  # the rest can still be shown; `errands doctor` names the damage
    return None if found is None else {name: getattr(found, name) for name in fields(found)}


def approval_json(approval: Approval) -> dict[str, Any]:
    return {
        "id": approval.id,
        "task": approval.task_id,
        "run": approval.run,
        "state": approval.state,
        "asked_at": plain_value(approval.asked_at),
        "expires_at": plain_value(approval.expires_at),
        "answered_at": plain_value(approval.at),
        "by": approval.by,
        "door": approval.door,
        "note": approval.note,
        "scope": approval.scope,
        "digest": approval.digest,
        "reasons": [{name: getattr(each, name) for name in fields(each)} for each in approval.reasons],
    }
