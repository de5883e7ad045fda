"""A process tree, and how to end it for certain.

A signal alone proves nothing: whoever forks meanwhile escapes it. So the tree is frozen until it
stops growing, killed, and looked for again until nobody is left.
"""

from __future__ import annotations

import os
import time

from errands.runners.signals import SIGKILL, SIGSTOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PATIENCE = 2.0


def send(pids: Iterable[int], *signals: int) -> None:
    """Send signals to processes; those that are gone or are not ours are passed over."""
    for pid in pids:
        for number in signals:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                break


def kill(find: Callable[[], list[int]]) -> tuple[int, ...]:
    """Kill all that `find` finds alive, and give those that outlive it (not ours, or stuck in the kernel)."""
    give_up = time.monotonic() + PATIENCE
    frozen: set[int] = set()
    while (fresh := [pid for pid in find() if pid not in frozen]) and time.monotonic() < give_up:
        send(fresh, SIGSTOP)
        frozen.update(fresh)
    pause = 0.0002
    while alive := find():
        send(alive, SIGKILL)
        if time.monotonic() > give_up:
            return tuple(alive)
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
    return ()
