"""Asking: a question about a task as a form that a client shows to a person, and what the answer means.

Only an explicit yes is one. A form that was dismissed leaves the task proposed, for who answers elsewhere.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult

from errands.frontends.mcp.call import Call
from errands.frontends.mcp.client import Client
from errands.frontends.mcp.door import NAME, Door
from errands.model.action import Shell
from errands.model.approval import Approval
from errands.model.errors import ErrandsError
from errands.model.text.sanitise import line

_LOG = logging.getLogger("errands.mcp")
_APPROVE = "approve"
_LONGEST_COMMAND = 4000
_MOST_LINES = 60
_SCHEMA = {
    "type": "object",
    "properties": {
        _APPROVE: {
            "type": "boolean",
            "title": "Approve",
            "description": "Start it? Without a yes it does not.",
            "default": False,
        }
    },
    "required": [_APPROVE],
}


def open_questions(door: Door, call: Call) -> list[Approval]:
    """List what a person was not asked yet about what a call launched and what it waits for."""
    waiting = list(call.asking)
    tool = door.tool(call.caller, call.tool)
    if call.reply is not None and tool is not None and tool.may_need_approval:
        waiting += call.reply.proposed
    found = map(door.engine.engine.question, dict.fromkeys(waiting))
    return [each for each in found if each is not None and each.id not in call.asked and _fits(door, each)]


def _fits(door: Door, question: Approval) -> bool:
    """Tell whether a form can show all that would run; about anything else nobody is asked here."""
    task = door.engine.engine.task(question.task_id)
    action = task.action
    if task.state != "proposed":
        return True  # it is about a call of its agent, whose reasons say all
    if isinstance(action, Shell) and (action.before or action.lastly or action.env):
        return False
    return len(action.line) <= _LONGEST_COMMAND and action.line.count("\n") < _MOST_LINES


def form(door: Door, question: Approval) -> ElicitRequestFormParams:
    """Write the form for a question: all that would run, where, and why it is asked about."""
    view = door.engine.engine.summaries([question.task_id])[0]
    what = "This prompt" if view.agent is not None and view.state == "proposed" else "This command"
    shown = [f"  {line(each)}" for each in view.command.split("\n")]
    if view.state != "proposed":
        what, shown = f"What the agent of task {view.id} wants to do next", []
    reasons = [f"- {line(each.text)}" for each in question.reasons]
    text = [f"{what} needs your approval:", "", *shown, "", f"in {line(view.cwd)}", *reasons]
    return ElicitRequestFormParams(message="\n".join(text), requested_schema=_SCHEMA)


def requests(door: Door, questions: list[Approval]) -> dict[str, ElicitRequest]:
    """Write the forms of several questions, each under a key that its answer comes back with."""
    return {_key(each): ElicitRequest(params=form(door, each)) for each in questions}


def answer(door: Door, call: Call, client: Client, question: Approval, said: ElicitResult) -> None:
    """Record a yes or a no. A question that has its answer, or has changed since, keeps what it has."""
    call.asked.add(question.id)
    agreed = (said.content or {}).get(_APPROVE) if said.action == "accept" else None
    if agreed is not True and agreed is not False and said.action != "decline":
        return
    engine, by = door.engine.engine, door.person(call.caller)
    try:
        if agreed is True:
            engine.approve(question.task_id, by=by, door=NAME, question=question.id)
        else:
            note = f"declined in {client.name}"
            view = engine.reject(question.task_id, by=by, door=NAME, note=note, question=question.id)
            if view.state == "rejected":
                call.turned_down.append(view.id)
    except ErrandsError as error:
        _LOG.info("an answer about %s came to nothing: %s", question.task_id, error)


def answers(
    door: Door, call: Call, client: Client, questions: list[Approval], said: Mapping[str, object]
) -> bool:
    """Record the answers to those of the questions that have one; tell whether any had."""
    found = [(each, said[_key(each)]) for each in questions if _key(each) in said]
    for question, given in found:
        answer(door, call, client, question, _read(given))
    return bool(found)


def _read(given: object) -> ElicitResult:
    if isinstance(given, ElicitResult):
        return given
    try:
        return ElicitResult.model_validate(given)
    except ValueError:
        return ElicitResult(action="cancel")


def _key(question: Approval) -> str:
    return f"approval-{question.id}"
