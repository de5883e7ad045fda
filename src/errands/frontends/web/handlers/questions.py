"""Questions: what waits for approval, shown whole, and the answers of a person."""

from __future__ import annotations

from typing import Any

from errands.engine.approval.answers import answers_to
from errands.engine.approval.question_facts import facts_of, headline
from errands.engine.engine import Engine
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.call import Answer, Call, Handler
from errands.frontends.web.handlers.rows import Rows, changed
from errands.model.approval import Approval, AuditEntry, call_of
from errands.model.errors import Drifted, NotFound
from errands.model.text.answers import Answer as AnswerToQuestion
from errands.model.text.answers import answer_word, reach
from errands.model.text.mask import Mask
from errands.model.text.sanitise import line
from errands.model.verdict import Reason
from errands.model.view import View, plain_value
from errands.text.question import visible as spelled

_MOST = 50
_AUDITED = 1000  # entries that are searched for the answer to an old question


def questions(call: Call) -> Answer:
    views = call.engine.answerable()
    is_person = call.is_person
    found = [_question(call, view.id, is_person=is_person) for view in views[:_MOST]]
    return {"questions": [each for each in found if each is not None], "total": len(views)}


def question(call: Call) -> Answer:
    number, engine = call.values["number"], call.engine
    for view in engine.answerable():
        if view.question is not None and view.question.id == number:
            shown = _question(call, view.id, is_person=call.is_person)
            if shown is not None and shown["id"] == number:
                return {"open": shown, "task": view.id, "said": {"state": ""}}
    for entry in engine.audit(limit=_AUDITED):
        if entry.approval.id == number:
            asked = entry.approval
            by = f" by {line(asked.by)}" if asked.by else ""
            said = f"{answer_word(asked)}{by}, {str(asked.at)[:19]} UTC"
            return {"open": None, "task": entry.approval.task_id, "said": {"state": said}}
    raise NotFound(f"unknown question {number}; it may have been removed with its task")


def _question(call: Call, task_id: str, *, is_person: bool) -> dict[str, Any] | None:
    """Return the open question about a task; a program sees it with secrets masked."""
    engine = call.engine
    try:
        view = engine.get(task_id)
    except NotFound:
        return None  # cleared meanwhile
    asked = view.question
    if asked is None:
        return None
    mask = None if is_person else engine.mask(view.id)
    facts = [
        {"name": name, "value": _hidden(value, mask)}
        for name, value in facts_of(engine, call.services.environ, view)
    ]
    return {
        "id": asked.id,
        "digest": asked.digest,
        "task": view.id,
        "run": asked.run,
        "row": Rows(engine).one(view),
        "facts": facts,
        "reasons": [reason_json(each) for each in asked.reasons],
        "answers": [
            {
                "name": each.name,
                "key": each.key,
                "label": each.label,
                "said": {"covers": _covers(each, view, mask)},
            }
            for each in answers_to(engine, asked)
        ],
        "lasting": any(each.undo == "no" for each in asked.reasons),
        "asked_at": plain_value(asked.asked_at),
        "expires_at": plain_value(asked.expires_at),
        "said": {
            "title": headline(view),
            "asked_by": line(view.created_by),
            "changed": _changed(engine, view, asked),
        },
    }


def _covers(answer: AnswerToQuestion, view: View, mask: Mask | None) -> str:
    """Say how far a yes reaches; empty for a no."""
    where = _hidden(view.cwd or "", mask)
    match answer.name:
        case "once":
            return "Only this time. It asks again next time."
        case "task" if view.standing is not None:
            return "Every run of this recurring task, until what it runs changes."
        case "task" if view.agent is not None and (view.question is None or call_of(view.question) is None):
            return "All that this question lists, for the whole task of the agent."
        case "task":
            return "The same again in the rest of this agent's task, but nothing else, and no other task."
        case "always":
            return (
                f"Exactly this command in {where}, from now on, from any caller. "
                "Every other command, and this one in another directory, still asks. "
                "`errands audit --always` lists such approvals, `errands reject --always` withdraws one."
            )
    return ""


def _hidden(value: str, mask: Mask | None) -> str:
    text = "\n".join(spelled(each) for each in value.split("\n"))
    return text if mask is None else mask.text(text)


def reason_json(reason: Reason) -> dict[str, Any]:
    return {"text": spelled(Mask({}).text(reason.text)), "undo": reason.undo, "kind": line(reason.kind)}


def _changed(engine: Engine, view: View, asked: Approval) -> str:
    """Return why an earlier question about the same run is void; empty if there was none."""
    earlier = [each for each in engine.approvals(view.id) if each.id < asked.id and each.run == asked.run]
    voided = [each for each in earlier if each.state == "void" and each.note]
    return line(voided[-1].note) if voided else ""


def approve(call: Call) -> Answer:
    task_id, body = _checked(call), call.body
    scope = body["answer"]
    view = call.engine.approve(
        task_id, by=call.caller.name, door=call.caller.door, scope=scope, question=body["question"]
    )
    return changed(call.engine, view, f"approved{reach(scope)}: {view.id}")


def reject(call: Call) -> Answer:
    task_id, body = _checked(call), call.body
    view = call.engine.reject(
        task_id,
        by=call.caller.name,
        door=call.caller.door,
        note=body.get("note", ""),
        question=body["question"],
    )
    return changed(call.engine, view, f"rejected: {view.id}")


def ask_anew(call: Call) -> Answer:
    view = call.engine.ask_anew(call.task, by=call.caller.name, door=call.caller.door)
    return changed(call.engine, view)


def _checked(call: Call) -> str:
    """Return the task that an answer is for; refuse unless what was shown is what would run."""
    task_id = call.engine.answer_target(call.task)
    asked = call.engine.question(task_id)
    if asked is not None and (asked.id, asked.digest) != (call.body["question"], call.body["digest"]):
        raise Drifted(f"the question about task {task_id} that you saw is void; look at the new one")
    return task_id


def audit(call: Call) -> Answer:
    entries = call.engine.audit(call.values["task"], limit=call.values["limit"])
    return {"entries": [_entry(each) for each in entries]}


def _entry(entry: AuditEntry) -> dict[str, Any]:
    asked, mask = entry.approval, Mask({})
    outcome = "" if entry.outcome is None else entry.outcome
    more = entry.error or entry.summary or ""
    return shaped(
        "AuditEntry",
        asked,
        task=asked.task_id,
        name=line(entry.name),
        command=mask.text(line(call_of(asked) or entry.command)),
        cwd=line(entry.cwd),
        answered_at=plain_value(asked.at),
        note=mask.text(line(asked.note)),
        reasons=[reason_json(each) for each in asked.reasons],
        gone=entry.is_gone,
        said={"outcome": mask.text(line(f"{outcome}: {more}" if outcome and more else outcome))},
    )


HANDLERS: dict[str, Handler] = {
    "questions": questions,
    "question": question,
    "approve": approve,
    "reject": reject,
    "ask-anew": ask_anew,
    "audit": audit,
}
