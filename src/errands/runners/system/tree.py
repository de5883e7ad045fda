"""Ending a process tree for certain.

Listing and killing once is not enough: a process that forks in between escapes. So the tree is listed and
killed again until no process is left. Signals go to whole process groups first: the kernel delivers those to
all members at once, while a fork bomb outruns any list of processes.
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
    """Send signals to processes; skip those that are gone or not ours."""
    for pid in pids:
        for number in signals:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                break


def kill(find: Callable[[], list[int]], *, by_group: bool, leader: int = 0) -> tuple[int, ...]:
    """Kill everything that `find` lists; return the survivors (not ours, or stuck in the kernel).

    `by_group` is for trees with sessions of their own, whose groups have no foreign members. `leader` leads
    such a group and has not been reaped yet, so its group can be killed before the first search.
    """
    previous = _raise_priority()
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
        os.setpriority(os.PRIO_PROCESS, 0, previous)


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


def _raise_priority() -> int:
    """Raise our priority above a crowd of processes, if permitted; return the previous one."""
    previous = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, _FIRST)
    except PermissionError:
        pass  # only root can
    return previous
