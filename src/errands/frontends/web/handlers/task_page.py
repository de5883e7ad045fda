"""Everything about one task: its runs, facts, files, relatives, and what can be done with it now."""

from __future__ import annotations

from typing import Any

from errands.engine.engine import Engine
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call
from errands.frontends.web.handlers.output import cause
from errands.frontends.web.handlers.rows import Rows, facts_about
from errands.frontends.web.handlers.schedules import schedule_of
from errands.model.errors import ErrandsError, NotFound
from errands.model.text.sanitise import line, visible
from errands.model.text.secrets import masked_variables
from errands.model.view import View, as_json
from errands.ports.store import Query

_MOST_CHILDREN = 100


def task(call: Call) -> Answer:
    engine = call.engine
    view = engine.get(call.task)
    rows = Rows(engine)
    engine.mark_retrieved(view)
    return {
        "row": rows.one(view),
        "runs": [_run(engine, rows, view, each) for each in view.history],
        "facts": facts_about(engine, view),
        "can": list(_possible(engine, view)),
        "files": [line(each) for each in (view.details or {}).get("files", ())],
        "parent": _parent(engine, rows, view),
        "children": rows.all(_children(engine, view)),
        "proposals": rows.all(engine.proposals_of(view)) if view.agent is not None else [],
        "schedule": None if view.standing is None else schedule_of(engine, rows, view),
        "fields": _fields(engine, view),
    }


def _run(engine: Engine, rows: Rows, view: View, run: Any) -> dict[str, Any]:
    is_latest_failure = run.state == "failed" and run.number == view.latest.number
    return shaped(
        "Run",
        run,
        files=[line(each) for each in engine.files(run.id)],
        said={
            "more": rows.result(view, run),
            "cause": cause(engine, run.id) if is_latest_failure else "",
        },
    )


def _parent(engine: Engine, rows: Rows, view: View) -> dict[str, Any] | None:
    if view.agent_task is None:
        return None
    try:
        return rows.one(engine.summaries([view.agent_task])[0])
    except NotFound:
        return None  # cleared since


def _children(engine: Engine, view: View) -> list[View]:
    """List the tasks that the runs of a task started, newest first."""
    names = {view.id}
    session = (view.details or {}).get("session")
    if session:
        names.add(session)
    found: dict[str, View] = {}
    for name in names:
        found |= {each.id: each for each in engine.list(Query(parent=name, limit=_MOST_CHILDREN))}
    return sorted(found.values(), key=lambda each: each.created_at, reverse=True)[:_MOST_CHILDREN]


def _possible(engine: Engine, view: View) -> Any:
    """Yield the verbs that make sense for a task as it is."""
    run, standing = view.latest, view.standing
    is_pending = view.is_live and run.state == "pending" and view.state != "proposed"
    is_running = run.state == "running" and not view.is_cancelling
    if view.is_open and not view.is_cancelling:
        yield "cancel"
    if is_running and standing is not None:  # for other tasks that is the same as cancelling them
        yield "stop"
    if view.question is not None:
        yield from ("approve", "reject")
    if standing is not None:
        if view.task_state in ("active", "paused"):
            yield "pause" if view.task_state == "active" else "unpause"
            yield "fire"
    elif view.is_paused or view.is_held:
        yield "unpause"
    elif is_pending or (is_running and view.agent is None):
        yield "pause"
    if is_pending and standing is None:
        yield "release" if view.is_held else "hold"
        yield "move"
        if view.due_at is not None:
            yield "fire"
    if is_running and (view.details or {}).get("input") in ("pipe", "pty"):
        yield "send"
    if view.agent is not None and why_not_resumable(engine, view) == "":
        yield "resume"
    if not view.is_open:
        if view.state == "rejected":
            yield "ask-anew"
        else:
            yield "restart"
        yield "clear"


def why_not_resumable(engine: Engine, view: View) -> str:
    """Return why no other prompt can be sent to an agent; empty if one can."""
    try:
        engine.sessions.check_resumable(view)
    except ErrandsError as error:
        return line(str(error))
    return ""


def _fields(engine: Engine, view: View) -> dict[str, Any]:
    """Return what `errands show --json` prints, with secrets masked."""
    mask = engine.mask(view.id)

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return mask.text(visible(value))
        if isinstance(value, dict):
            return {visible(str(name)): clean(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [clean(each) for each in value]
        return value

    flat = as_json(view)
    if flat.get("env"):
        flat["env"] = masked_variables(flat["env"])
    found: dict[str, Any] = clean(flat)
    return found
