"""Editing a recurring task: its schedule as options of a draft, and what becomes of its slots."""

from __future__ import annotations

from errands.engine.submit.draft_trigger import drafted_trigger
from errands.engine.triggers.scheduler import close_due_slots
from errands.engine.triggers.schedules import begin, check_room
from errands.model.errors import BadValue, IllegalMove
from errands.model.options.table import BY_NAME
from errands.model.record import evolve
from errands.model.schedule.watch import Watch
from errands.model.trigger import Cron, Every, On, recurring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from errands.config import Config
    from errands.model.options.draft import Draft
    from errands.model.task import Task
    from errands.model.trigger import Standing
    from errands.model.view import View
    from errands.ports.store import Store

_SCHEDULE = ("jitter", "misfire", "max_age", "max_runs")
_EVENTS = ("debounce", "max_wait", "rate", "max_runs")


def schedule_options(task: Task, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the trigger of a recurring task as the options that ask for it, without those that change."""
    trigger = recurring(task.trigger)
    if trigger is None:
        return {}
    if isinstance(trigger, On) != ("on" in changes) and any(
        name in changes for name in ("every", "cron", "on")
    ):
        waits = "waits for events" if isinstance(trigger, On) else "follows a schedule"
        raise BadValue(f"task {task.id} {waits}, which cannot be changed; cancel it, and start another one")
    if isinstance(trigger, On):
        options: dict[str, Any] = {name: getattr(trigger, name) for name in _EVENTS}
        if "on" not in changes:
            options |= {"on": f"{trigger.source}:{trigger.subject}", "on_options": dict(trigger.options)}
        return options
    options = {name: getattr(trigger, name) for name in _SCHEDULE}
    if isinstance(trigger, Cron) or trigger.hours:
        options["zone"] = trigger.zone
    if trigger.hours:
        options["hours"] = trigger.hours
    if "every" not in changes and "cron" not in changes:
        options |= {"cron": trigger.line} if isinstance(trigger, Cron) else {"every": trigger.span}
    return {name: value for name, value in options.items() if value}


def write_schedule(
    store: Store,
    config: Config,
    task: Task,
    edited: Task,
    view: View,
    draft: Draft,
    changes: Mapping[str, Any],
    *,
    now: datetime,
) -> int:
    """Write a recurring task that does not run now; return the number of the run that a question is about.

    Approvals are about what the task was before. A changed schedule starts over, and so does one whose task
    waits for approval first.
    """
    if task.state == "paused" and edited.state == "proposed":
        raise IllegalMove(
            f"task {task.id} is paused, and what it would run now needs approval; unpause it first"
        )
    is_other = any(BY_NAME[name].group == "recurring" for name in changes if name in BY_NAME)
    if is_other:
        edited = evolve(edited, trigger=_trigger(task, draft, config, store, now=now))
    starts = task.state == "proposed" and edited.state == "active"
    if starts:
        check_room(store, config)
    if not store.replace_recurring(edited, since=view.updated_at, now=now):
        raise changed_since(task)
    store.withdraw_task_approvals(task.id)
    if is_other or edited.state == "proposed":
        close_due_slots(store, task, now=now, reason="edited before its turn")
        store.set_next_fire(task.id, None)
    if is_other and isinstance(edited.trigger, On):
        store.save_watch(Watch(task_id=task.id))  # what the source told about the old subject does not count
    if edited.state == "active" and (is_other or starts):
        begin(store, edited, now=now)
    return view.latest.number if view.is_live else view.latest.number + 1


def changed_since(task: Task) -> IllegalMove:
    return IllegalMove(f"task {task.id} has started or changed since; look at it again")


def _trigger(task: Task, draft: Draft, config: Config, store: Store, *, now: datetime) -> Standing:
    """Return the changed trigger; an interval that stays keeps its times."""
    trigger = drafted_trigger(draft, config, now=now)
    if isinstance(trigger, On):
        from errands.engine.triggers.watches import checked

        trigger = checked(trigger, store, config)
    old = task.trigger
    if isinstance(trigger, Every) and isinstance(old, Every) and trigger.span == old.span:
        trigger = evolve(trigger, anchor=old.anchor)
    found = recurring(trigger)
    assert found is not None
    cursor = store.cursor(task.id)
    if cursor is not None and found.max_runs is not None and found.max_runs <= cursor.runs:
        raise BadValue(
            f"max_runs must be more than {cursor.runs} (got {found.max_runs}), "
            f"because task {task.id} has run that often; errands cancel ends it"
        )
    return found
