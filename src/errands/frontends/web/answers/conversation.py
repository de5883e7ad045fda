"""Conversations: what an agent was asked, which tools it used, and what it answered."""

from __future__ import annotations

import json
from typing import Any

from errands.engine.engine import Engine
from errands.frontends.web.answers.task_page import why_not_resumable
from errands.frontends.web.call import Answer, Call, Handler
from errands.model.errors import BadValue
from errands.model.text.sanitise import line, visible
from errands.model.view import View, plain_value

_MOST_CALLS = 2000  # in one conversation; the newest are kept


def conversation(call: Call) -> Answer:
    engine = call.engine
    view = engine.get(call.task)
    if view.agent is None:
        raise BadValue(f"task {view.id} is a command, and only agents have a conversation")
    mask = engine.mask(view.id)
    states = {each.number: each.state for each in view.history}
    errors = {each.number: each.error for each in view.history}
    calls = _calls(engine, view)
    why_not = why_not_resumable(engine, view)
    return {
        "exchanges": [
            {
                "run": number,
                "state": states.get(number),
                "prompt": mask.text(visible(each.text)),
                "answer": None if each.answer is None else mask.text(visible(each.answer)),
                "error": _error(each.error or errors.get(number), mask),
                "usage": dict(each.usage),
                "calls": calls.get(number, []),
            }
            for number, each in engine.sessions.conversation(view.id)
        ],
        "resumable": not why_not,
        "said": {"why_not": why_not},
    }


def _error(text: str | None, mask: Any) -> str | None:
    return None if not text else mask.text(line(text))


def _calls(engine: Engine, view: View) -> dict[int, list[dict[str, Any]]]:
    """Return the calls of tools by the number of the run; their texts were masked when they were kept."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for event in engine.events(view.id):
        if event.name not in ("tool", "tool_end") or event.run is None:
            continue
        try:
            detail = json.loads(event.detail)
            name, text = str(detail["call"]), visible(str(detail.get("text", "")))
        except (ValueError, KeyError, TypeError):
            continue  # of an older version
        key = (event.run, name)
        if event.name == "tool":
            found[key] = {
                "id": line(name),
                "name": line(str(detail.get("name", ""))),
                "arguments": text,
                "result": "",
                "failed": False,
                "started_at": plain_value(event.at),
                "ended_at": None,
                "task": engine.id_by_key(f"{view.id}.{event.run}:{name}"),
            }
        elif key in found:
            found[key] |= {
                "result": text,
                "failed": bool(detail.get("failed")),
                "ended_at": plain_value(event.at),
            }
    by_run: dict[int, list[dict[str, Any]]] = {}
    for (run, _), each in list(found.items())[-_MOST_CALLS:]:
        by_run.setdefault(run, []).append(each)
    return by_run


ANSWERS: dict[str, Handler] = {"conversation": conversation}
