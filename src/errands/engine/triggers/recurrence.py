"""Repeating: what the end of a run means for a standing task, in the same transaction as the end itself."""

from __future__ import annotations

from errands.engine.daemon.outcome import notice_body
from errands.engine.notices.outbox import enqueue
from errands.engine.triggers.debounce import give_up, is_waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from errands.model.rollup import Outcome
    from errands.model.run import Run
    from errands.model.task import Task
    from errands.ports.output import OutputPort
    from errands.ports.store import Store

WHOLE = 1 << 20  # bytes of output that are compared as they are; of more, the beginning and the end


def after_scheduled_run(
    store: Store, task: Task, run: Run, outcome: Outcome, *, now: datetime, backoff: timedelta
) -> None:
    """Try again, go on waiting, or pause and tell the owner, whatever the policy of notices says."""
    if run.cause == "resume":
        return
    cursor = store.cursor(task.id)
    before = None if cursor is None else cursor.result
    result = before if outcome.run_state == "cancelled" else outcome.result
    store.note_result(task.id, failures=outcome.failures, result=result)
    if outcome.retry:
        store.add_run(task.id, cause="retry", now=now, not_before=now + backoff)
    elif task.state == "active" and outcome.task_state in ("paused", "failed"):
        store.listen_at(task.id, None)
        store.drop_waiting(task.id, f"the task is {outcome.task_state}")
        give_up(store, task, now=now, reason=f"the task is {outcome.task_state}")
        _tell_of_failures(store, task, run, outcome, now)
    elif outcome.task_state == "done":
        give_up(store, task, now=now, reason="it has run as often as it should")
    elif outcome.task_state == "active" and is_waiting(store, task):
        store.listen_at(task.id, now)


def _tell_of_failures(store: Store, task: Task, run: Run, outcome: Outcome, now: datetime) -> None:
    what = f"it failed {outcome.failures} times in a row ({outcome.error})"
    if outcome.task_state == "paused":
        what += f" and is paused; errands unpause {task.id} lets it go on"
    body = notice_body(
        task=task.id, run=run.id, state=outcome.task_state, description=task.description,
        command=task.action.line, error=what,
    )  # fmt: skip
    event = "paused" if outcome.task_state == "paused" else "given up"
    enqueue(store, task, run.id, event, body=body, now=now)


def result_print(output: OutputPort, directory: str, size: int, answer: str | None) -> str:
    """Name what a run reports, so that another result has another name; nothing has the empty one."""
    if answer is not None:
        content = answer.strip().encode()
    elif not size:
        return ""
    else:
        try:
            content = output.read(directory, offset=0, limit=WHOLE).content
            if size > WHOLE:
                content += b"%d" % size + output.tail(directory, 200).content
        except (OSError, ValueError):
            content = b"%d" % size  # the task took its log away, or garbled it
    try:
        from _blake2 import blake2b
    except ImportError:  # pragma: no cover
        from hashlib import blake2b

    return blake2b(content, digest_size=12).hexdigest() if content.strip() else ""
