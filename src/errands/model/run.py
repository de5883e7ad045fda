"""A run: one execution of a task, from queue to ending.

Runs only move forward. A restart is a new run, so the history of a task is simply its runs in order.
"""

from __future__ import annotations

from errands.model.errors import NotFound
from errands.model.record import record
from errands.model.text.ids import is_run_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    from errands.model.states import RunState

    Cause = Literal["submit", "schedule", "event", "manual", "retry", "resume", "restart", "dependency"]


@record
class Run:
    task_id: str
    number: int
    cause: Cause
    state: RunState
    attempt: int
    created_at: datetime
    started_at: datetime | None = None
    stop_requested_at: datetime | None = None
    stop_by: str | None = None
    pid: int | None = None
    spent: float = 0.0  # seconds that earlier attempts took

    @property
    def id(self) -> str:
        return f"{self.task_id}.{self.number}"


@record
class Event:
    """A fact about a task, recorded in the same transaction as the state it is about."""

    seq: int
    task_id: str
    run: int | None
    name: str
    at: datetime
    detail: str


def task_of(run_id: str) -> tuple[str, int]:
    """Split a run's id into the task's id and the run's number."""
    if not is_run_id(run_id):
        raise NotFound(f"{run_id[:80]!r} is not a run's id; a run's id looks like pytest-7k2m4x.1")
    task_id, _, number = run_id.rpartition(".")
    return task_id, int(number)
