"""The store: the only bus. Everything any process knows about tasks, it knows from here.

Methods that change something are called inside `with store:`, which is one short transaction; an inner one
joins the outer. Every write names the state it expects and does nothing if that is not the case. That a run
was queued, started, stopped and ended can be read from its row; `add_event` adds the rest.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Protocol

    from errands.model.run import Run
    from errands.model.task import Task
    from errands.ports.store.approvals import ApprovalStore
    from errands.ports.store.notices import NoticeStore
    from errands.ports.store.queue import QueueStore
    from errands.ports.store.reports import ReportStore
    from errands.ports.store.retention import RetentionStore
    from errands.ports.store.schedules import ScheduleStore
    from errands.ports.store.sessions import SessionStore
    from errands.ports.store.tasks import TaskStore

    # Whether what a run was approved for is still what would run.
    Fit = Callable[[Task, Run], bool]

    class Store(
        TaskStore,
        QueueStore,
        ApprovalStore,
        ScheduleStore,
        NoticeStore,
        SessionStore,
        RetentionStore,
        ReportStore,
        Protocol,
    ):
        def __enter__(self) -> Store: ...
        def __exit__(self, kind: object, error: object, trace: object) -> None: ...
        def close(self) -> None: ...


MOST_IDS = 5000  # in one query: a database takes a limited number of values


@record
class Query:
    """Which tasks to list, newest first; everything that is given must hold."""

    states: tuple[str, ...] = ()
    batch: str | None = None
    owner: str | None = None
    parent: str | None = None
    ids: tuple[str, ...] | None = None
    text: str | None = None  # in its id, description or command, whatever the case of its letters
    kind: str | None = None
    lane: str | None = None
    since: datetime | None = None  # what had not ended by then
    limit: int | None = None
    before: str | None = None
    with_commands: bool = True  # whether to list the commands that agents ran, too


def any_run(task: Task, run: Run) -> bool:
    """Treat every run as eligible."""
    return True
