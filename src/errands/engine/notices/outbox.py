"""The outbox: the notices of one event, one for each address, inside the caller's transaction.

The inbox of the owner always gets one; the channels of the task get theirs beside it.
"""

from __future__ import annotations

from errands.model.notices.notice import Address
from errands.model.text.json_text import plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from errands.model.task import Task
    from errands.model.view import View
    from errands.ports.store import Store


PHRASE = 200  # characters of a description or a command in a notice


def enqueue(
    store: Store,
    task: Task | View,
    run_id: str,
    event: str,
    *,
    state: str,
    error: str | None,
    now: datetime,
    not_before: datetime | None = None,
    exit_code: int | None = None,
    signal: int | None = None,
    summary: str | None = None,
    elapsed: float | None = None,
    more: Mapping[str, Any] = {},
) -> None:
    """Queue a notice of what happened to a task, for its owner and its channels.

    A run is reported once per event and address. Text that came from outside is cut to a bounded length.
    """
    body = plain_text(
        {
            "task": task.id,
            "run": run_id,
            "kind": task.kind,
            "state": state,
            "description": clipped(task.description, PHRASE),
            "command": clipped(task.command, PHRASE),
            "exit_code": exit_code,
            "signal": signal,
            "error": None if error is None else clipped(error, 400),
            "summary": summary,
            "elapsed": elapsed,
            **more,
        }
    )
    inbox = Address(channel="inbox", target=task.owner)
    for address in (inbox, *task.channels) if task.channels else (inbox,):
        store.add_notice(run_id, event, address, body=body, now=now, not_before=not_before)


def clipped(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"
