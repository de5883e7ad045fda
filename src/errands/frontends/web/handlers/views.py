"""Views of many tasks: the first screen, the timeline, figures, agents and lanes."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

from errands.engine.engine import Engine
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call, Handler
from errands.frontends.web.handlers.output import cause
from errands.frontends.web.handlers.rows import Rows, counts, daemon_facts, lanes
from errands.model.errors import BadValue
from errands.model.states import STANDING
from errands.model.text.sanitise import line
from errands.model.view import View, plain_value
from errands.ports.schema import moment
from errands.ports.store import Query
from errands.text import plural

_MOST = 50
_NEXT = 10
_LATEST = 5
_CAUSES = 20  # failed tasks whose output is looked at
_ROWS = 100
_POINTS = 1000
_TRACKS = 4  # for runs of a row that overlap
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)  # nothing ran before it, and datetime ends not long before


def _time(call: Call, name: str, default: datetime) -> datetime:
    given = call.values[name]
    return default if given is None else moment(given, name)


def overview(call: Call) -> Answer:
    engine, now = call.engine, datetime.now(UTC)
    rows = Rows(engine)
    failed_since = _time(call, "failed_since", now - timedelta(days=1))
    running = engine.list(Query(states=("running", "resumed"), limit=_MOST, with_commands=False))
    # A recurring task stays active during its runs.
    running += engine.list(Query(states=STANDING, limit=_MOST))
    asked = engine.answerable()
    waiting_ids = {view.id for view in asked}
    pending, _ = engine.next_pending(limit=_NEXT)
    failed = _ended(engine, "failed", since=failed_since)
    completed = _ended(engine, "completed", since=now - timedelta(hours=1))[:_LATEST]
    return {
        "now": plain_value(now),
        "counts": counts(engine),
        "waiting": rows.all(asked[:_MOST]),
        "running": rows.all(
            view for view in running if view.id not in waiting_ids and view.latest.state == "running"
        ),
        "pending": rows.all(engine.summaries(pending)),
        "failed": rows.all(failed),
        "causes": {view.id: cause(engine, view.latest.id) for view in failed[:_CAUSES]},
        "completed": rows.all(completed),
        "coming": _coming(engine)[:_NEXT],
        "lanes": lanes(engine)["lanes"],
        "in_fleet": os.path.exists(engine.home.fleet),
        "daemon": daemon_facts(engine, is_live=engine.bell.is_answered()),
    }


def _ended(engine: Engine, state: str, *, since: datetime) -> list[View]:
    """Return the tasks that ended in a state since a time, the latest first."""
    found = engine.list(Query(states=(state,), since=since, limit=_MOST, with_commands=False))
    return sorted(found, key=lambda view: view.latest.completed_at or view.updated_at, reverse=True)


def _coming(engine: Engine) -> list[dict[str, Any]]:
    """List what is scheduled next, and then what waits for events."""
    views = [view for view in engine.list(Query(states=("active",))) if view.standing is not None]
    found = [
        {
            "task": view.id,
            "name": line(view.name),
            "at": plain_value(view.standing.next_at),
            "said": {"rule": line(view.standing.rule)},
        }
        for view in views
        if view.standing is not None
    ]
    return sorted(found, key=lambda each: (each["at"] is None, each["at"] or ""))


def timeline(call: Call) -> Answer:
    engine, now = call.engine, datetime.now(UTC)
    until = _time(call, "until", now)
    since = _time(call, "since", until - timedelta(hours=1) if until > _FIRST else until)
    if since >= until:
        raise BadValue(f"since must be before until (got {plain_value(since)} and {plain_value(until)})")
    group = call.values["group"]
    bars = engine.reports.timeline(
        since=since, until=until, steps=call.values["width"], group=group, tracks=_TRACKS
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for bar in bars:
        found.setdefault(bar.group, []).append(shaped("Bar", bar, count=bar.runs, task=bar.task_id))
    coming = _coming_bars(engine, group, now, until)
    return {
        "since": plain_value(since),
        "until": plain_value(until),
        "now": plain_value(now),
        "rows": [{"label": line(label), "bars": bars} for label, bars in list(found.items())[:_ROWS]],
        "coming": coming,
        "left_off": max(0, len(found) - _ROWS),
    }


def _coming_bars(engine: Engine, group: str, now: datetime, until: datetime) -> list[dict[str, Any]]:
    if until <= now:
        return []
    found = []
    for view in engine.list(Query(states=("active",))):
        if view.standing is None:
            continue
        label = {"lane": view.lane, "name": view.name, "batch": view.batch or ""}[group]
        found += [
            {"label": line(label), "task": view.id, "at": plain_value(at)}
            for at in engine.schedules.coming(view.id, 20)
            if at <= until
        ]
    return found[:600]


def figures(call: Call) -> Answer:
    now = datetime.now(UTC)
    since = _time(call, "since", now - timedelta(days=30))
    name = call.values["name"]
    reports = call.engine.reports
    points = reports.ended_runs(since=since, name=name, limit=_POINTS)
    took = sorted(each.seconds for each in points if each.state == "completed" and each.seconds is not None)
    days: dict[str, dict[str, Any]] = {}
    for day, state, count in reports.ends_by_day(since=since, name=name):
        each = days.setdefault(day, {"day": day, "completed": 0, "failed": 0, "other": 0})
        each[state if state in ("completed", "failed") else "other"] += count
    total = sum(each["completed"] + each["failed"] + each["other"] for each in days.values())
    failed = sum(each["failed"] for each in days.values())
    return {
        "names": [
            {"name": line(each), "runs": runs} for each, runs in reports.busiest_names(since=since, limit=50)
        ],
        "name": name,
        "points": [shaped("Point", each, task=each.task_id, cost=each.microdollars / 1e6) for each in points],
        "days": [days[each] for each in sorted(days)],
        "median": took[(len(took) - 1) // 2] if took else None,
        "said": {"summary": f"{plural(total, 'run')}, {failed:,} failed"},
    }


def agents(call: Call) -> Answer:
    engine = call.engine
    found = engine.sessions.sessions()
    ids = list(dict.fromkeys(each.task_id for each in found))
    views = {view.id: view for view in engine.list(Query(ids=tuple(ids[:1000])))}
    rows = Rows(engine)
    return {
        "agents": [
            {
                "session": line(each.name),
                "row": rows.one(view),
                "model": None if view.agent is None or view.agent.model is None else line(view.agent.model),
                "prompts": 1 + (view.agent.resume_count if view.agent else 0),
                "forked_from": None if each.forked_from is None else line(each.forked_from),
                "gone": each.gone_at is not None,
                "created_at": plain_value(each.created_at),
                "usage": {} if view.agent is None else dict(view.agent.usage),
            }
            for each in found
            if (view := views.get(each.task_id)) is not None
        ]
    }


def set_lane(call: Call) -> Answer:
    call.engine.queue.set_lane(call.values["lane"], call.body["width"], by=call.caller.name)
    return lanes(call.engine)


HANDLERS: dict[str, Handler] = {
    "overview": overview,
    "timeline": timeline,
    "figures": figures,
    "agents": agents,
    "lanes": lambda call: lanes(call.engine),
    "set-lane": set_lane,
}
