"""Removal: ended tasks, and all files that belong to them alone."""

from __future__ import annotations

import os

from errands.model.errors import NotFound, StillLive
from errands.ports.rundir import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.engine.core import EngineCore


def retract(core: EngineCore, task_id: str) -> bool:
    """Remove a task that has not begun, as if it had never been submitted; return False if that is too late.

    That is also so if other tasks wait for it.
    """
    now = core.clock.now()
    with core.store:
        try:
            view = core.store.view(task_id)
        except NotFound:
            return False
        run = view.latest
        if view.state != "pending" or core.store.dependents(task_id):
            return False
        if not core.store.cancel_pending(run.id, by="its caller", now=now):
            return False
        core.store.remove([task_id], now=now)
    core.bell.announce([task_id])
    remove_tree(core.home.run(run.id))
    return True


def clear(core: EngineCore, task_ids: Iterable[str]) -> list[str]:
    """Remove ended tasks and their files; refuse all of them if any is still live."""
    ids = [core.resolve(each) for each in task_ids]
    with core.store:
        live = [each for each in ids if not core.store.ended(each)]
        if live:
            has, it = ("has", "it") if len(live) == 1 else ("have", "them")
            raise StillLive(f"{', '.join(live)} {has} not ended; cancel {it} first, or leave {it} out")
        # The rows go first: the janitor sweeps directories without a row.
        runs = core.store.remove(ids, now=core.clock.now())
    core.bell.announce(ids)
    for run_id in runs:
        remove_tree(core.home.run(run_id))
    if os.path.isdir(core.home.homes):
        from errands.engine.walls.private_homes import remove_homes, unused_homes

        remove_homes(unused_homes(core.home, core.store))
    if core.store.orphan_sessions(now=core.clock.now()):
        from errands.engine.agents.session_cleanup import start

        start(core.home)
    return ids
