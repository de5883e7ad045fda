"""Waiting: until tasks end, woken by the doorbell.

The bell only says that it is worth a look; without one, the store is looked at every two seconds.
"""

from __future__ import annotations

import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from errands.engine.engine import Engine

LOOK = 2.0  # seconds between two looks when nobody rings


def wait(
    engine: Engine,
    task_ids: Sequence[str],
    *,
    timeout: float | None = None,
    unheld: Callable[[], None] | None = None,
) -> list[str]:
    """Block until all tasks have ended or the time-out has passed; give those still live.

    `unheld` is called when nobody runs the loops, so that the caller can see to it that somebody does.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    live = suspects = set(task_ids)
    line = type(engine.bell)(engine.home.bell)  # a line of our own: its news are for these tasks alone
    try:
        watching = False
        while True:
            if not watching:
                watching = line.wait_for(live)
                if not watching and unheld is not None:
                    unheld()
            live = live - {each for each in suspects if engine.store.ended(each)}
            left = LOOK if deadline is None else min(LOOK, deadline - time.monotonic())
            if not live or left <= 0:
                return [each for each in task_ids if each in live]
            select.select([line.fileno()] if watching else [], [], [], left)
            words = line.heard() if watching else None
            watching = words is not None
            # Only what changed is worth a look; without news everything is, because a ring may get lost,
            # and so it is at the beginning, because nobody told us before.
            if not words or "watching" in words:
                suspects = live
            else:
                suspects = live.intersection(each for said in words for each in said.split())
    finally:
        line.close()
