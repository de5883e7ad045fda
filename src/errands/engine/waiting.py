"""Wait until tasks end, woken by the doorbell.

The bell only says that something may have changed; without a ring, the store is read every two seconds.
"""

from __future__ import annotations

import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.engine.engine import Engine

LOOK = 2.0  # seconds between two checks without a ring


def wait(
    engine: Engine,
    task_ids: Sequence[str],
    *,
    timeout: float | None = None,
) -> list[str]:
    """Block until all tasks have ended or the time-out has passed; return those still live.

    They are waited for one by one, the last one first, because most have ended when it does.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    live = [each for each in task_ids if not engine.store.ended(each)]
    while live and _wait(engine, live[-1], deadline):
        live.pop()
    return [each for each in live if not engine.store.ended(each)]


def _wait(engine: Engine, task_id: str, deadline: float | None) -> bool:
    line = type(engine.bell)(engine.home.bell)
    try:
        watching = False
        while not engine.store.ended(task_id):
            left = LOOK if deadline is None else min(LOOK, deadline - time.monotonic())
            if left <= 0:
                return False
            if not watching:
                watching = line.wait_for(task_id)
                if not watching:
                    engine.ensure_daemon()
                    watching = line.wait_for(task_id)
            # The first answer says that we are subscribed: what happened before is worth a look.
            select.select([line.fileno()] if watching else [], [], [], left)
            watching = watching and line.read() is not None
        return True
    finally:
        line.close()
