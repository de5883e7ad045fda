"""Conversations: what an agent was asked, which tools it used, and what it answered."""

from __future__ import annotations

from typing import Any

from errands.engine.agents.call_log import calls_of, started_by
from errands.engine.engine import Engine
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call, Handler
from errands.frontends.web.handlers.task_page import why_not_resumable
from errands.model.errors import BadValue
from errands.model.text.sanitise import line, visible
from errands.model.view import View


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
                "error": mask.text(line(error)) if (error := each.error or errors.get(number)) else None,
                "usage": dict(each.usage),
                "calls": calls.get(number, []),
            }
            for number, each in engine.sessions.conversation(view.id)
        ],
        "resumable": not why_not,
        "said": {"why_not": why_not},
    }


def _calls(engine: Engine, view: View) -> dict[int, list[dict[str, Any]]]:
    """Return the calls of tools by the number of the run; their texts were masked when they were kept."""
    return {
        run: [
            shaped(
                "Call",
                each,
                arguments=each.arguments,
                result=each.result,
                task=started_by(engine, view.id, run, each.id),
            )
            for each in calls
        ]
        for run, calls in calls_of(engine, view.id).items()
    }


HANDLERS: dict[str, Handler] = {"conversation": conversation}
