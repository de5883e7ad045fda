"""Posting: the notices of one event, one for each address, inside the caller's transaction.

The inbox of the owner always gets one; the channels of the task get theirs beside it.
"""

from __future__ import annotations

from errands.model.notices.notice import Address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.model.task import Task
    from errands.model.view import View
    from errands.ports.store import Store


def enqueue(
    store: Store,
    task: Task | View,
    run_id: str,
    event: str,
    *,
    body: str,
    now: datetime,
    not_before: datetime | None = None,
) -> None:
    """Put what happened to a task into the outbox, for everybody who is to know."""
    inbox = Address(channel="inbox", target=task.owner)
    for address in (inbox, *task.channels) if task.channels else (inbox,):
        store.add_notice(run_id, event, address, body=body, now=now, not_before=not_before)
