"""Tasks: the list, everything about one, and the verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from errands.engine.engine import Engine
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call, Handler
from errands.frontends.web.guard import RefusalError
from errands.frontends.web.handlers.rows import Rows, changed, done
from errands.frontends.web.handlers.task_page import task
from errands.model.errors import BadValue, ErrandsError, StoreError
from errands.model.states import ENDED, SIGNS
from errands.model.text.sanitise import line
from errands.model.view import View, plain_value
from errands.ports.fleet.placement import read as placement_of
from errands.ports.schema import moment
from errands.ports.store import MOST_IDS, Query
from errands.ports.store.reports import TaskRow
from errands.text import did_you_mean, plural

_DESCRIBED = 100  # live tasks of an answer that are described
_MORE = 120  # characters of what is said about each
_COUNTED = 10_000  # tasks that are counted at most, to say how many match
# States as people call them, and those that the store knows.
_STORED = {"held": "pending", "cancelling": "running"}


def query_of(engine: Engine, filters: Any, **more: Any) -> Query:
    states = [each for each in (filters.get("state") or "").split(",") if each]
    for each in states:
        if each not in SIGNS:
            raise BadValue(f"unknown state {each!r}{did_you_mean(each, SIGNS)}; see `errands ls --help`")
    since = filters.get("since")
    ids = [each for each in (filters.get("ids") or "").split(",") if each]
    if len(ids) > MOST_IDS:
        raise BadValue(f"ids can name {MOST_IDS:,} tasks at most (got {len(ids):,})")
    parent = filters.get("parent")
    return Query(
        states=tuple(dict.fromkeys(_STORED.get(each, each) for each in states)),
        kind=filters.get("kind"),
        text=filters.get("text") or None,
        batch=filters.get("batch"),
        lane=filters.get("lane"),
        parent=parent,
        since=None if since is None else moment(since, "since"),
        ids=tuple(ids) if ids else None,
        with_commands=bool(filters.get("commands")) or parent is not None or bool(ids),
        **more,
    )


def tasks(call: Call) -> Answer:
    values, engine = call.values, call.engine
    before = values["before"] and engine.resolve(values["before"])
    limit = values["limit"]
    views = engine.list(query_of(engine, values, limit=limit + 1, before=before))
    rows = Rows(engine).all(views[:limit])
    is_filtered = any(values[name] for name in ("state", "kind", "text", "batch", "lane", "parent", "since"))
    hidden = 0
    if not rows and is_filtered and before is None:
        hidden = engine.reports.count(Query(limit=_COUNTED, with_commands=bool(values["commands"])))
    return {
        "rows": rows,
        "before": views[limit - 1].id if len(views) > limit else None,
        "total": _total(engine, values) if before is None else None,
        "hidden": hidden,
    }


def _total(engine: Engine, values: Any) -> int | None:
    found = engine.reports.count(query_of(engine, values, limit=_COUNTED + 1))
    return found if found <= _COUNTED else None


def light_tasks(call: Call) -> Answer:
    values, engine = call.values, call.engine
    before = values["before"] and engine.resolve(values["before"])
    limit = values["limit"]
    found = engine.reports.rows(query_of(engine, values, limit=limit + 1, before=before))
    hosts = {each.id: _where(engine, each) for each in found[:limit] if each.host}
    waits = _waits(engine, [each.id for each in found[:limit] if each.state not in ENDED])
    rows = [
        {
            "id": each.id,
            "kind": "agent" if each.kind in ("agent", "prompt") else "shell",
            "state": _word(each, hosts.get(each.id)),
            "what": each.title,
            "lane": each.lane,
            "run": each.run,
            "created_at": plain_value(each.created_at),
            "started_at": plain_value(each.started_at),
            "completed_at": plain_value(each.ended_at),
            "next_at": plain_value(each.next_at),
            "more": waits.get(each.id) or _ending(each, hosts.get(each.id)),
        }
        for each in found[:limit]
    ]
    return {"rows": rows, "before": found[limit - 1].id if len(found) > limit else None}


def _waits(engine: Engine, ids: list[str]) -> dict[str, str]:
    """Say what live tasks do or wait for, of as many as fit on a screen: each is read whole for it."""
    rows = Rows(engine)
    views = engine.list(Query(ids=tuple(ids[:_DESCRIBED]))) if ids else []
    return {view.id: rows.more(view, longest=_MORE) for view in views}


def _where(engine: Engine, row: TaskRow) -> str | None:
    """Return the host of a running run, empty if none has begun it yet; None if it is not running."""
    if row.state != "running":
        return None
    placement = placement_of(engine.home.run(f"{row.id}.{row.run}"))
    return placement.host if placement is not None and placement.has_begun else ""


def _ending(row: TaskRow, where: str | None) -> str:
    """Return how the latest run of a light row ended or where it runs, in a few words."""
    if where is not None:
        return f"on {line(where)}" if where else f"waiting for a host: {line(row.host)}"
    if row.state != "failed" or row.failure is None:
        return str(row.summary)
    why = f"exit {row.exit_code}" if row.failure == "exit" else row.failure.replace("_", " ")
    return f"{why} · {row.summary}" if row.summary else why


def _word(row: TaskRow, where: str | None) -> str:
    """Return the state of a light row, as a person calls it; a run that no host has begun is pending."""
    if where == "":
        return "pending"
    if row.state == "resumed":
        return "running" if row.started_at and not row.ended_at else "pending"
    if row.is_stopping:
        return "cancelling"
    if row.is_paused and row.state in ("pending", "running"):
        return "held" if row.state == "pending" else "paused"
    return str(row.state)


def events(call: Call) -> Answer:
    mask = call.engine.mask(call.task)
    return {
        "events": [
            shaped("Event", each, detail=mask.text(line(each.detail)))
            for each in call.engine.events(call.task)
        ]
    }


def trace(call: Call) -> Answer:
    spans = call.engine.tracing.tree(call.task)
    return {
        "spans": [
            shaped(
                "Span",
                each,
                id=each.place.span_id,
                parent=each.parent_id,
                task=each.attributes.get("task.id"),
                attributes={
                    line(name): line(value) if isinstance(value, str) else value
                    for name, value in each.attributes.items()
                },
            )
            for each in spans
        ]
    }


# Verbs.


def _act(act: Callable[[Call, str], View]) -> Handler:
    def handler(call: Call) -> Answer:
        return changed(call.engine, act(call, call.task))

    return handler


def _by(call: Call) -> str:
    return call.caller.name


def _cancel(call: Call, task_id: str) -> View:
    return call.engine.cancel([task_id], by=_by(call))[0]


def _restart(call: Call, task_id: str) -> View:
    return call.engine.restart(task_id, consent=call.consent, door=call.caller.door)


def _send(call: Call, task_id: str) -> View:
    content = call.body["text"].encode("utf-8", "surrogateescape")
    call.engine.send(task_id, content, eof=call.body.get("eof", False))
    return call.engine.summaries([task_id])[0]


def _move(call: Call, task_id: str) -> View:
    body = call.body
    return call.engine.queue.move(task_id, before=body.get("before"), last=body.get("last", False))


_VERBS: dict[str, Callable[[Call, str], View]] = {
    "cancel": _cancel,
    "stop": lambda call, task_id: call.engine.stop(task_id, by=_by(call)),
    "restart": _restart,
    "resume": lambda call, task_id: call.engine.sessions.resume(task_id, call.body["prompt"]),
    "pause": lambda call, task_id: call.engine.queue.pause(task_id, by=_by(call)),
    "unpause": lambda call, task_id: call.engine.queue.unpause(task_id),
    "hold": lambda call, task_id: call.engine.queue.hold(task_id, by=_by(call)),
    "release": lambda call, task_id: call.engine.queue.release(task_id),
    "move": _move,
    "fire": lambda call, task_id: call.engine.schedules.fire(task_id),
    "send": _send,
}


def clear(call: Call) -> Answer:
    gone = call.engine.clear([call.task])
    return done(f"cleared {gone[0]}" if gone else "nothing was cleared")


def batch(call: Call) -> Answer:
    """Apply a verb to many tasks, if their number is what the caller expects."""
    body, engine = call.body, call.engine
    if ("ids" in body) == ("query" in body):
        raise BadValue("give either ids or query")
    if "ids" in body:
        ids = list(dict.fromkeys(engine.resolve(each) for each in body["ids"]))
    else:
        found = engine.reports.rows(query_of(engine, body["query"], limit=body["expected"] + 1))
        ids = [each.id for each in found]
    if len(ids) != body["expected"]:
        many = f"more than {body['expected']:,}" if len(ids) > body["expected"] else f"{len(ids):,}"
        detail = f"{many} tasks match now, not {body['expected']:,}; look again, then repeat it"
        raise RefusalError(409, detail, "Changed")
    finished, refused = _each(call, body["verb"], ids)
    said = f"{body['verb']}: {plural(len(finished), 'task')}"
    if refused:
        said += f"; {plural(len(refused), 'was', 'were')} refused"
    return {"done": finished, "refused": refused, "said": {"text": said}}


def _each(call: Call, verb: str, ids: Iterable[str]) -> tuple[list[str], list[dict[str, Any]]]:
    finished: list[str] = []
    refused: list[dict[str, Any]] = []
    for task_id in ids:
        try:
            if verb == "clear":
                call.engine.clear([task_id])
            else:
                _VERBS[verb](call, task_id)
            finished.append(task_id)
        except StoreError:
            raise
        except ErrandsError as error:
            refused.append({"task": task_id, "detail": line(str(error)), "kind": type(error).__name__})
    return finished, refused


HANDLERS: dict[str, Handler] = {
    "tasks": tasks,
    "light-tasks": light_tasks,
    "task": task,
    "events": events,
    "trace": trace,
    **{name: _act(verb) for name, verb in _VERBS.items()},
    "clear": clear,
    "batch": batch,
}
