"""Views of tasks in every combination of states there is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Any

from errands.model.approval import Approval
from errands.model.record import evolve
from errands.model.states import RUN_MOVES, TASK_MOVES
from errands.model.trigger import Cron, Every, On, described
from errands.model.verdict import Reason
from errands.model.view import AgentView, RecurringView, RunView, View, shown_state, unrun
from tests.hand_clock import START
from tests.samples import sample_view

CAUSES = ("submit", "schedule", "event", "manual", "retry", "resume", "restart", "dependency")
KINDS = ("shell", "agent")

_RUN = RunView(id="true-222222.1", number=1, cause="submit", state="pending", attempt=1, created_at=START)
_VIEW = sample_view(_RUN, description="do nothing")
_QUESTION = Approval(
    id=1,
    task_id="true-222222",
    run=1,
    digest="0",
    reasons=(Reason(text="deletes everything", kind="delete"),),
    asked_at=START,
    expires_at=START,
)


TRIGGERS = (
    Every(span=timedelta(minutes=30), anchor=START),
    Cron(line="0 9 * * 1-5", zone="UTC"),
    On(source="file", subject="src/**/*.py"),
)


def every_view() -> Iterator[View]:
    """Return more than can be reached: every state of a task with every state of a run, once and standing."""
    yield from _once()
    for task, run, number, kind, trigger in product(TASK_MOVES, RUN_MOVES, (0, 1), KINDS, TRIGGERS):
        if number or run == "pending":
            yield standing(task, run, kind=kind, number=number, trigger=trigger)


def standing(task: Any, run: Any, *, number: int = 1, trigger: Any = TRIGGERS[0], **more: Any) -> View:
    """A task that runs again and again; with the number 0 it has not run yet."""
    made = view(task, run, **{"cause": "schedule", "asked": task == "proposed", **more})
    seen = RecurringView(trigger=trigger, rule=described(trigger), next_at=START, last_at=None, runs=number)
    latest = made.latest if number else unrun(made.id, START)
    return evolve(made, state=task, standing=seen, latest=latest, runs=number)


def _once() -> Iterator[View]:
    for task, run, cause, kind, stopping, asked in product(
        TASK_MOVES, RUN_MOVES, CAUSES, KINDS, (False, True), (False, True)
    ):
        yield view(task, run, cause=cause, kind=kind, stopping=stopping, asked=asked)


def view(
    task: Any,
    run: Any,
    *,
    cause: Any = "submit",
    kind: str = "shell",
    stopping: bool = False,
    asked: bool = False,
    **changes: Any,
) -> View:
    begun = run != "pending" and run != "skipped"
    ended = run in ("completed", "failed", "cancelled", "skipped")
    latest = evolve(
        _RUN,
        state=run,
        cause=cause,
        started_at=START if begun else None,
        completed_at=START if ended else None,
        stop_requested_at=START if stopping else None,
        elapsed=1.5 if ended and begun else None,
        exit_code={"completed": 0, "failed": 3}.get(run),
        error="exit code 3" if run == "failed" else None,
    )
    agent = AgentView(name="offline", waiting="approval" if asked else None) if kind == "agent" else None
    return evolve(
        _VIEW,
        kind=kind,
        state=shown_state(task, latest),
        task_state=task,
        latest=latest,
        agent=agent,
        question=_QUESTION if asked else None,
        **changes,
    )
