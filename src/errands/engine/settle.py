"""Settling: what the end of a run means for others, in the same transaction as the end itself.

Tasks that waited for a completed one may start; those that waited for any other end are skipped, and so
on down the line; owners are told.
"""

from __future__ import annotations

from errands.model.notice import Address, should_notify
from errands.model.run import task_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.model.states import RunState
    from errands.model.view import View
    from errands.ports.store import Store


def settle(store: Store, run_id: str, state: RunState, *, now: datetime) -> list[str]:
    """Settle a run that has just ended; give the ids of all tasks that changed with it."""
    changed: list[str] = []
    queue = [(run_id, state)]
    while queue:
        run_id, state = queue.pop(0)
        task_id, _ = task_of(run_id)
        changed.append(task_id)
        announce(store, store.view(task_id), now=now)
        waiting = store.dependents(task_id)
        if waiting and state == "completed":
            store.release_dependents(task_id)
            continue
        for each in waiting:
            if store.skip(
                each, reason="dependency", error=f"it waited for {task_id}, which is {state}", now=now
            ):
                queue.append((each, "skipped"))
    return changed


def announce(store: Store, view: View, *, now: datetime) -> None:
    """Put the notice of a run's end into the outbox, if its task's policy wants one."""
    run = view.latest
    if not should_notify(view.notify, failed=run.state in ("failed", "skipped")):
        return
    import json

    body = json.dumps(
        {
            "task": view.id,
            "run": run.id,
            "state": run.state,
            "description": _clipped(view.description, 200),
            "command": _clipped(view.command, 200),
            "exit_code": run.exit_code,
            "signal": run.signal,
            "error": None if run.error is None else _clipped(run.error, 400),
            "summary": run.summary,
            "elapsed": run.elapsed,
        }
    )
    store.add_notice(run.id, run.state, Address(channel="inbox", target=view.owner), body=body, now=now)


def _clipped(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"
