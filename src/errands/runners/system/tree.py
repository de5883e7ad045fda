"""A process tree, and how to end it for certain.

One look and one signal prove nothing: whoever forks meanwhile escapes. So the tree is looked for and
killed again until nobody is left. Signals go to whole process groups first: the kernel delivers those to
all members at one blow, while a fork bomb outruns any list of processes.
"""

from __future__ import annotations

import os
import time

from errands.runners.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PATIENCE = 2.0
_FIRST = -20


def send(pids: Iterable[int], *signals: int) -> None:
    """Send signals to processes; those that are gone or are not ours are passed over."""
    for pid in pids:
        for number in signals:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                break


def kill(find: Callable[[], list[int]], *, by_group: bool, leader: int = 0) -> tuple[int, ...]:
    """Kill all that `find` finds alive, and give those that outlive it (not ours, or stuck in the kernel).

    `by_group` is for trees with sessions of their own: no group of theirs has strangers in it. `leader` leads
    such a group and has not been waited for yet, so its group can be killed before anybody is looked for.
    """
    usual = _hurry()
    give_up = time.monotonic() + PATIENCE
    pause = 0.0002
    try:
        if leader:
            _kill_groups([leader])
        while alive := find():
            if by_group:
                _kill_groups(alive)
            send(alive, signal.SIGKILL)
            if time.monotonic() > give_up:
                return tuple(alive)
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        return ()
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)


def _kill_groups(pids: list[int]) -> None:
    done = {os.getpgrp()}
    for pid in pids:
        try:
            group = os.getpgid(pid)
            if group not in done:
                done.add(group)
                os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def _hurry() -> int:
    """Come before a crowd of processes, where that is allowed; give the priority to go back to."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, _FIRST)
    except PermissionError:
        pass  # only root may
    return usual
