"""Schedules: recurring tasks, when they run next, and what became of their due times."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from errands.engine.engine import Engine
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call, Handler
from errands.frontends.web.handlers.rows import Rows
from errands.model.errors import BadValue
from errands.model.schedule.slot_record import Slot
from errands.model.states import STANDING
from errands.model.view import View, plain_value
from errands.ports.store import Query

_STREAK = 20
_RECENT = 100
_MOST_OF_A_MONTH = 50_000


def slot_json(slot: Slot, states: dict[int, str]) -> dict[str, Any]:
    return shaped("Slot", slot, state=None if slot.run is None else states.get(slot.run))


def schedule_of(
    engine: Engine, rows: Rows, view: View, slots: Sequence[Slot] | None = None
) -> dict[str, Any]:
    standing = view.standing
    assert standing is not None
    found = engine.schedules.ledger(view.id, _STREAK) if slots is None else slots
    states: dict[int, str] = {each.number: each.state for each in engine.history(view.id, limit=2 * _STREAK)}
    watch = None
    if standing.health is not None:
        watch = {
            "health": standing.health,
            "checked_at": plain_value(standing.checked_at),
            "last_event_at": plain_value(standing.signal_at),
        }
    return shaped(
        "Schedule",
        standing,
        row=rows.one(view),
        next_runs=[plain_value(each) for each in engine.schedules.coming(view.id)],
        streak=[slot_json(each, states) for each in found],
        watch=watch,
    )


def schedules(call: Call) -> Answer:
    engine = call.engine
    rows, recent = Rows(engine), engine.reports.recent_slots(limit=_STREAK)
    views = engine.list(Query(states=STANDING))
    return {
        "schedules": [
            schedule_of(engine, rows, view, recent.get(view.id, ()))
            for view in views
            if view.standing is not None
        ]
    }


def slots(call: Call) -> Answer:
    engine, task = call.engine, call.task
    view = engine.view(task)
    if view.standing is None:
        raise BadValue(f"task {task} runs once and has no schedule")
    month = call.values["month"]
    records = engine.schedules.ledger(task, _RECENT if month is None else _MOST_OF_A_MONTH)
    if month is not None:
        first, after = _month(month)
        records = [each for each in records if each.until >= first and each.slot < after]
    states: dict[int, str] = {each.number: each.state for each in engine.history(task)}
    coming = engine.schedules.coming(task, 50)
    return {
        "slots": [slot_json(each, states) for each in records],
        "next_runs": [plain_value(each) for each in coming],
    }


def _month(text: str) -> tuple[datetime, datetime]:
    year, month = int(text[:4]), int(text[5:])
    if not (1 <= month <= 12 and 1970 <= year <= 9998):
        raise BadValue(f"month must be like 2026-12 (got {text!r})")
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return datetime(year, month, 1, tzinfo=UTC), datetime(*following, 1, tzinfo=UTC)


HANDLERS: dict[str, Handler] = {"schedules": schedules, "slots": slots}
