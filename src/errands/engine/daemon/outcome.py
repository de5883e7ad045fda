"""Settling: what the end of a run means for others, in the same transaction as the end itself.

Tasks that waited for a completed one may start; those that waited for any other end are skipped, and so
on down the line; owners are told.
"""

from __future__ import annotations

from errands.engine.notices.outbox import enqueue
from errands.model.errors import StoreUnreadable
from errands.model.notices.notice import should_notify
from errands.model.run import task_of
from errands.model.text.json_text import plain_text
from errands.text import shortened

LONGEST_ANSWER = 16_000  # characters that a notice has of an agent's answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from errands.ports.store import Store


def settle(store: Store, run_id: str, state: str, *, now: datetime) -> list[str]:
    """Settle a run that ended without ever starting; give the ids of all tasks that ended with it."""
    announce(store, run_id, now=now)
    ended, _ = release_dependents(store, task_of(run_id)[0], state, now=now)
    return ended


def release_dependents(
    store: Store, task_id: str, state: str, *, now: datetime
) -> tuple[list[str], list[str]]:
    """Let the tasks that waited for one go, or skip them; give those that ended, and those let go."""
    ended: list[str] = []
    released: list[str] = []
    queue = [(task_id, state)]
    for task_id, how in queue:
        ended.append(task_id)
        waiting = store.dependents(task_id)
        if waiting and how == "completed":
            store.release_dependents(task_id)
            released += [task_of(each)[0] for each in waiting]
            continue
        for each in waiting:
            why = f"it waited for {task_id}, which is {how}"
            if store.skip(each, reason="dependency", error=why, now=now):
                announce(store, each, now=now)
                queue.append((task_of(each)[0], "skipped"))
    return ended, released


def announce(store: Store, run_id: str, *, now: datetime) -> None:
    """Put the notice of a run that never started into the outbox, if its task's policy wants one."""
    try:
        view = store.view(task_of(run_id)[0])
    except StoreUnreadable:
        return  # a damaged record fails alone: it must not undo the end of what it waited for
    run = view.latest
    # That somebody said no is told in any case: silence would look like success.
    if view.state == "rejected" or should_notify(view.notify, failed=run.state == "skipped"):
        body = notice_body(
            task=view.id, run=run_id, state=view.state, description=view.description, command=view.command,
            error=run.error,
        )  # fmt: skip
        enqueue(store, view, run_id, view.state, body=body, now=now)


def notice_body(
    *,
    task: str,
    run: str,
    state: str,
    description: str,
    command: str,
    error: str | None,
    exit_code: int | None = None,
    signal: int | None = None,
    summary: str | None = None,
    elapsed: float | None = None,
    more: Mapping[str, Any] = {},
) -> str:
    """Write the facts a notice carries; everything that came from outside is bounded."""
    return plain_text(
        {
            "task": task,
            "run": run,
            "state": state,
            "description": _clipped(description, 200),
            "command": _clipped(command, 200),
            "exit_code": exit_code,
            "signal": signal,
            "error": None if error is None else _clipped(error, 400),
            "summary": summary,
            "elapsed": elapsed,
            **more,
        }
    )


def told_answer(task: str, answer: str) -> str:
    """Give an agent's answer in full, or its beginning and its end and where the rest is."""
    return shortened(answer, LONGEST_ANSWER, rest=f"all of it: errands show {task}")


def first_words(answer: str | None) -> str | None:
    """Give the first line of an answer, for lists."""
    lines = (answer or "").split("\n")
    return _clipped(next((line.strip() for line in lines if line.strip()), ""), 200) or None


def _clipped(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"
