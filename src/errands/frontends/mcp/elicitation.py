"""Elicitation: ask a person for approval through a form of their client.

Only an explicit yes approves. After a dismissed form the task stays proposed, and can be answered elsewhere;
so it does after a no that comes faster than a person can read: programs without a person decline at once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult

from errands.engine.approval.answers import answers_to
from errands.engine.approval.question_facts import facts_of, headline
from errands.frontends.mcp.call import Call
from errands.frontends.mcp.client import Client
from errands.frontends.mcp.frontend import NAME, Frontend
from errands.model.action import Shell
from errands.model.approval import Approval
from errands.model.errors import ErrandsError
from errands.model.text.answers import NO, Answer
from errands.text import Look
from errands.text.question import question as layout

_LOG = logging.getLogger("errands.mcp")
_ANSWER = "answer"
_LOOK = Look(colour=False, unicode=True, columns=80)  # forms have any width, most of them this one
_LONGEST_COMMAND = 4000
_MOST_LINES = 60
_READ = timedelta(seconds=1)  # no person reads a form and declines it faster; `codex exec` takes 7 ms


def open_questions(frontend: Frontend, call: Call) -> list[Approval]:
    """List the open questions about what a call launched or waits for that no person was asked yet."""
    waiting = list(call.asking)
    tool = frontend.tool(call.caller, call.tool)
    if call.reply is not None and tool is not None and tool.launches:
        waiting += call.reply.proposed
    found = map(frontend.engine.engine.question, dict.fromkeys(waiting))
    return [
        each for each in found if each is not None and each.id not in call.asked and _fits(frontend, each)
    ]


def _fits(frontend: Frontend, question: Approval) -> bool:
    """Return whether a form can show everything that would run; otherwise it must be answered elsewhere."""
    task = frontend.engine.engine.task(question.task_id)
    action = task.action
    if task.state != "proposed":
        return True  # about a tool call of its agent, which the reasons describe in full
    if isinstance(action, Shell) and (action.before or action.lastly or action.env):
        return False
    return len(action.line) <= _LONGEST_COMMAND and action.line.count("\n") < _MOST_LINES


def form(frontend: Frontend, question: Approval) -> ElicitRequestFormParams:
    """Return the form for a question: everything that would run, where, and why it needs approval."""
    engine = frontend.engine.engine
    view = engine.get(question.task_id)
    if view.state == "proposed":
        title, facts = headline(view), facts_of(engine, os.environ, view)
    else:
        title = f"What the agent of task {view.id} wants to do next needs your approval:"
        facts = iter([("directory", view.cwd), *(("because", each.text) for each in question.reasons)])
    schema = _schema(answers_to(engine, question))
    return ElicitRequestFormParams(message="\n".join([title, *layout(facts, _LOOK)]), requested_schema=schema)


def _schema(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the only field of a form. Nothing is chosen in it, so that sending it unchanged says nothing.

    The no comes first: a client may take a stray key press for the first answer.
    """
    *yeses, no = answers
    choice = {
        "type": "string",
        "title": "Answer",
        "description": "It starts only if you approve.",
        "enum": [_spelt(each) for each in (no, *yeses)],
    }
    return {"type": "object", "properties": {_ANSWER: choice}, "required": [_ANSWER]}


def _spelt(answer: Answer) -> str:
    return answer.label.lower()


def _said(answers: Sequence[Answer], result: ElicitResult) -> Answer | None:
    """Return the answer in a form; None if it was dismissed, or sent without one."""
    if result.action == "decline":
        return NO
    chosen = (result.content or {}).get(_ANSWER) if result.action == "accept" else None
    return next((each for each in answers if _spelt(each) == chosen), None)


def requests(frontend: Frontend, questions: list[Approval]) -> dict[str, ElicitRequest]:
    """Return the forms of several questions, each under the key that its answer will have."""
    return {_key(each): ElicitRequest(params=form(frontend, each)) for each in questions}


def answer(frontend: Frontend, call: Call, client: Client, question: Approval, result: ElicitResult) -> None:
    """Record a yes or a no; a question that was answered or has changed meanwhile is left alone."""
    call.asked.add(question.id)
    engine, by = frontend.engine.engine, frontend.person(call.caller)
    try:
        said = _said(answers_to(engine, question), result)
        if said is None:
            return
        if said is NO and datetime.now(UTC) - (call.shown_at or question.asked_at) < _READ:
            _LOG.info("%s declined the form about %s without a person", client.name, question.task_id)
        elif said.scope is not None:
            engine.approve(question.task_id, by=by, door=NAME, scope=said.scope, question=question.id)
        else:
            note = f"declined in {client.name}"
            view = engine.reject(question.task_id, by=by, door=NAME, note=note, question=question.id)
            if view.state == "rejected":
                call.turned_down.append(view.id)
                if not call.is_kept and view.owner == call.caller.session:
                    engine.sessions.acknowledge(view.latest.id, reader=NAME)  # the reply says it
    except ErrandsError as error:
        _LOG.info("an answer about %s had no effect: %s", question.task_id, error)


def answers(
    frontend: Frontend, call: Call, client: Client, questions: list[Approval], responses: Mapping[str, object]
) -> bool:
    """Record the answers to these questions; return whether there were any."""
    found = [(each, responses[_key(each)]) for each in questions if _key(each) in responses]
    for question, response in found:
        answer(frontend, call, client, question, _read(response))
    return bool(found)


def _read(response: object) -> ElicitResult:
    if isinstance(response, ElicitResult):
        return response
    try:
        return ElicitResult.model_validate(response)
    except ValueError:
        return ElicitResult(action="cancel")


def _key(question: Approval) -> str:
    return f"approval-{question.id}"
