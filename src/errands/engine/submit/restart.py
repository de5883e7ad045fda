"""Restart: another run of an ended task, judged like every start."""

from __future__ import annotations

from errands.engine.approval.approve import refuse_inside_a_run, ruling_on
from errands.model.errors import IllegalMove

RESTARTED = "restarted"  # an event: a caller restarted a task; the detail is the key of that call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from errands.engine.approval.ruling import Judge
    from errands.engine.core import EngineCore
    from errands.engine.submit.submission import Submitter
    from errands.model.approval import Consent


def restart(
    core: EngineCore,
    judge: Judge,
    submitter: Callable[[], Submitter],
    task_id: str,
    *,
    consent: Consent,
    door: str,
    key: str | None,
) -> None:
    if key is not None and _is_restarted(core, task_id, key):
        return
    if consent != "none" or core.consent != "none":
        refuse_inside_a_run(core)
    now, store = core.clock.now(), core.store
    ruling = ruling_on(store, judge, store.task(task_id))
    core.ensure_daemon()
    with store:
        if key is not None and _is_restarted(core, task_id, key):
            return
        view = store.view(task_id)
        if view.standing is not None:
            raise IllegalMove(f"task {task_id} is a recurring task; errands fire {task_id} runs it now")
        if view.is_live:
            raise IllegalMove(f"task {task_id} is still live; cancel it first, or wait for it")
        if store.move_task(task_id, "reopen", now=now) is None:
            raise IllegalMove(
                f"task {task_id} is {view.task_state}, so it cannot be started again; submit a new one"
            )
        submitter().restart(store.task(task_id), ruling, consent, door, now=now)
        if key is not None:
            store.add_event(task_id, RESTARTED, run=store.view(task_id).latest.number, now=now, detail=key)
    core.bell.ring_about([task_id])


def _is_restarted(core: EngineCore, task_id: str, key: str) -> bool:
    return any((each.name, each.detail) == (RESTARTED, key) for each in core.store.events(task_id))
