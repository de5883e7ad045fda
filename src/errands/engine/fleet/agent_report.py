"""Agents of other homes on this host: what is reported about them, and how answers from home count here.

What an agent wants to do is judged here, by the rules of this host; only what they leave to a person is asked
at home. The answer counts for exactly the question that was asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from errands.config.backends import settings_of
from errands.engine.approval.questions import turn_down
from errands.model.agent.session import session_name
from errands.model.approval import CALLS, FLEET
from errands.model.errors import NotFound
from errands.model.verdict import Reason
from errands.ports import rundir
from errands.ports.store import Query

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.engine.engine import Engine
    from errands.engine.fleet.guest import Guest
    from errands.model.approval import Approval, ApprovalState, Scope
    from errands.model.view import View
    from errands.ports.fleet import Fleet

EVENTS = ("tool", "tool_end", "usage")  # what an agent's own process notes about its run
PORTABLE = ("builtin", "offline")  # backends whose sessions are in the store alone
_DEEPEST = 5  # agents below an agent whose questions are passed on


async def report(engine: Engine, fleet: Fleet, guest: Guest, *, host: str, epoch: int) -> None:
    """Let the home of an agent know what is new about it."""
    number, attempt = guest.number, guest.attempt
    try:
        view = engine.view(guest.task_id)
    except NotFound:
        return
    steps = steps_of(engine, view)[guest.sent_steps :]
    if steps:  # what another host needs to continue it, if this one is lost
        await fleet.store_steps(
            number, attempt=attempt, host=host, epoch=epoch, since=guest.sent_steps, run=view.latest.id,
            bodies=steps,
        )  # fmt: skip
        guest.sent_steps += len(steps)
    events = events_of(engine, view)
    facts = {**facts_of(engine, view), **live_facts(engine, view), "events": len(events)}
    if facts == guest.reported:
        return
    events = events[guest.sent_events :]
    if events:
        await fleet.store_events(
            number, attempt=attempt, host=host, epoch=epoch, since=guest.sent_events, events=events
        )
        guest.sent_events += len(events)
    await fleet.report(number, attempt=attempt, host=host, epoch=epoch, view=facts)
    guest.reported = facts


def live_facts(engine: Engine, view: View) -> dict[str, object]:
    """Return what only the directory of a run shows, whether it is that of an agent or a command."""
    directory, facts = engine.home.run(view.latest.id), dict[str, object]()
    if (text := rundir.progress_text(directory)) is not None:
        facts["progress"] = text
    if view.is_live and rundir.is_paused(directory):
        facts["paused"] = True
    return facts


def facts_of(engine: Engine, view: View) -> dict[str, Any]:
    """Return what the home of an agent learns about its run."""
    store = engine.store
    exchange, session = store.exchange(view.latest.id), store.session(view.id)
    found: dict[str, Any] = {
        "task": view.id,
        "agent": "" if view.agent is None else view.agent.name,
        "has_session": session is not None and session.gone_at is None,
        "questions": [_shown(engine, each) for each in questions(engine, view.id)] if view.is_live else [],
    }
    if exchange is not None:
        found |= {
            "answer": exchange.answer,
            "failure": exchange.failure,
            "error": exchange.error,
            "usage": dict(exchange.usage),
            "tools": list(exchange.tools),
            "waiting": exchange.waiting,
        }
    return found


def events_of(engine: Engine, view: View) -> list[dict[str, Any]]:
    """Return what an agent did in its run, in order."""
    number = view.latest.number
    return [
        {"name": each.name, "detail": each.detail}
        for each in engine.store.events(view.id)
        if each.run == number and each.name in EVENTS
    ]


def steps_of(engine: Engine, view: View) -> list[str]:
    """Return the messages with which another host can continue an agent; only some backends keep any.

    Other agents keep their sessions in files of their own.
    """
    session = engine.store.session(view.id)
    if session is None or _backend(engine, session.agent) not in PORTABLE:
        return []
    return engine.store.messages(session)


def _backend(engine: Engine, agent: str) -> str:
    return str(settings_of(agent, engine.config.backends)["backend"])


def questions(engine: Engine, task_id: str, depth: int = 0) -> list[Approval]:
    """List what a person has to decide about an agent, and about what it started, oldest first."""
    store = engine.store
    own = store.question(task_id)
    found = [] if own is None else [own]
    if depth < _DEEPEST:
        for child in store.views(Query(parent=session_name(task_id), states=("proposed", "running"))):
            if child.agent is not None or child.state == "proposed":
                found += questions(engine, child.id, depth + 1)
    return sorted(found, key=lambda each: each.id)


def _shown(engine: Engine, question: Approval) -> dict[str, Any]:
    reasons = question.reasons
    if not any(each.kind == "call" for each in reasons):  # of a command that the agent wants to run
        line = engine.store.task(question.task_id).command
        reasons = (Reason(text=f"{CALLS}command: {line}", kind="call"), *reasons)
    return {
        "id": question.id,
        "reasons": [{"text": each.text, "undo": each.undo, "kind": each.kind} for each in reasons],
    }


def reasons_of(shown: Mapping[str, Any]) -> tuple[Reason, ...]:
    """Read the reasons of a question as a host reported them."""
    return tuple(Reason(**each) for each in shown["reasons"])


def apply(engine: Engine, task_id: str, number: int, answer: Mapping[str, Any], *, origin: str) -> None:
    """Let the answer of a person at the agent's home count for a question about it, if that still waits."""
    question = next((each for each in questions(engine, task_id) if each.id == number), None)
    if question is None:
        return  # it was answered here, or is void
    store, now = engine.store, engine.clock.now()
    by, note = f"{answer['by']} ({origin})", str(answer.get("note") or "")
    is_granted = answer["state"] == "granted"
    state: ApprovalState = "granted" if is_granted else "refused"
    scope: Scope = "task" if is_granted and answer["scope"] == "task" else "once"
    is_held = store.task(question.task_id).state == "proposed"
    ended: list[str] = []
    with store:
        if not store.answer(question.id, state, by=by, door=FLEET, now=now, note=note, scope=scope):
            return
        if is_held and is_granted:
            store.grant(question.task_id, by=by, door=FLEET, now=now)
        elif is_held:
            ended = turn_down(store, question, f"rejected by {by}" + (f": {note}" if note else ""), now=now)
    engine.bell.ring(ended, changed=(question.task_id, task_id))
