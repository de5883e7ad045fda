"""Questions about tasks: asked, with a notice to the owner; asked again after a change; expired or rejected.

Everything here happens inside the caller's transaction.
"""

from __future__ import annotations

from errands.engine.approval.answers import coverage, offered
from errands.engine.notices.outbox import enqueue
from errands.judge.evidence.evidence import changes, refreshed
from errands.model.approval import digest, evidence_of, evidence_text, is_unasked
from errands.model.record import evolve
from errands.model.view import plain_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from errands.model.approval import Approval, Evidence
    from errands.model.run import Run
    from errands.model.task import Task
    from errands.model.verdict import Reason
    from errands.ports.store import Store


def ask(
    store: Store, task: Task, run: int, reasons: Sequence[Reason], *, now: datetime, within: timedelta
) -> Approval:
    """Ask a person about a proposed task, and notify its owner."""
    is_first = not store.approvals(task.id)
    if not any(each.kind == "call" for each in reasons):
        reasons = (*(each for each in reasons if each.kind != "coverage"), *coverage(task))
    question = store.ask(task, run, reasons, now=now, expires_at=now + within)
    event = "proposed" if is_first else f"proposed again {question.id}"
    more = {
        "approval": question.id,
        "reasons": [each.text for each in reasons],
        "answers": [each.name for each in offered(task, reasons)],
        "expires_at": plain_value(question.expires_at),
    }
    why = "; ".join(each.text for each in reasons)
    enqueue(store, task, f"{task.id}.{run}", event, state="proposed", error=why, more=more, now=now)
    return question


def drift(task: Task) -> tuple[Evidence | None, list[str]]:
    """Return the evidence for a task as it is now, and what has changed since the task was judged."""
    evidence = evidence_of(task)
    if evidence is None:
        return None, []
    fresh = refreshed(evidence, task.action.cwd)
    return fresh, changes(evidence, fresh)


def ask_again(
    store: Store,
    task: Task,
    run: Run,
    evidence: Evidence | None,
    said: Sequence[str],
    *,
    now: datetime,
    within: timedelta,
) -> Approval:
    """Hold back a run because of `said`, and ask about the task as it is now."""
    from errands.model.verdict import Reason

    asked = store.approvals(task.id)
    reasons = [each for each in asked[-1].reasons if each.kind != "drift"] if asked else []
    reasons += [Reason(text=each, kind="drift") for each in said]
    store.hold(run, now=now)
    current = evolve(
        task,
        state="proposed",
        approved_by=None,
        approved_at=None,
        verdict="ask",
        digest=digest(task.action, evidence),
        evidence=None if evidence is None else evidence_text(evidence),
    )
    store.rejudge(current, now=now)
    store.add_event(task.id, "drifted", run=run.number, now=now, detail="; ".join(said))
    return ask(store, current, run.number, reasons, now=now, within=within)


def ask_for_host(
    store: Store, task: Task, run: Run, host: str, reasons: str, *, now: datetime, within: timedelta
) -> Approval:
    """Hold back a run and pass on the question of the host that would run it; `reasons` is JSON."""
    import json

    from errands.model.verdict import Reason

    found = [Reason(**each) for each in json.loads(reasons)]
    store.hold(run, now=now)
    current = evolve(task, state="proposed", approved_by=None, approved_at=None, verdict="ask")
    store.rejudge(current, now=now)
    store.add_event(task.id, "asked by its host", run=run.number, now=now, detail=host)
    return ask(store, current, run.number, found, now=now, within=within)


def expire(store: Store, *, now: datetime) -> list[str]:
    """Reject what was not answered in time; return the ids of all tasks that ended by it."""
    ended: list[str] = []
    for question in store.approvals(expired_by=now):
        asked = str(question.asked_at)[:16]
        why = f"not answered: it was asked {asked} UTC and expired {str(question.expires_at)[:16]} UTC"
        if store.answer(question.id, "expired", by="nobody", door="", now=now, note=why):
            ended += turn_down(store, question, why, now=now)
    return ended


def turn_down(store: Store, question: Approval, why: str, *, now: datetime) -> list[str]:
    """Reject a task; return the ids of all tasks that end by it."""
    from errands.engine.daemon.outcome import after_unstarted_run

    run_id = f"{question.task_id}.{question.run}"
    is_over = store.reject_pending(run_id, why=why, now=now)
    if not is_over and not store.view(question.task_id).is_live:
        # A recurring task is asked about before it has a run, or between two.
        is_over = store.move_task(question.task_id, "reject", now=now) is not None
    return after_unstarted_run(store, run_id, "rejected", now=now) if is_over else []


def without_evidence(task: Task) -> Task:
    """Return a task, without evidence if it runs unasked in a sandbox: there its scripts may change."""
    return evolve(task, evidence=None) if task.verdict == "contained" and is_unasked(task) else task
