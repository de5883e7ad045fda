"""Processes: what a tree of them costs, read from /proc.

A process that ended is counted where the kernel counts it, with the parent that waited for it; so the sum
over a tree misses no process as long as its root adopts the orphans (`adopt_orphans`).
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterable

_SET_CHILD_SUBREAPER = 36
_TICK = os.sysconf("SC_CLK_TCK")


def adopt_orphans() -> None:
    """Make every orphaned descendant a child of this process."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this kernel knows no subreaper")


def reap() -> None:
    """Reap every child that has already ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def tree(root: int) -> dict[int, int]:
    """Return a process and all its descendants by pid, with how many generations each is below it."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and (fields := _fields(int(entry))):
            children.setdefault(int(fields[1]), []).append(int(entry))
    family, found = {root: 0}, [root]
    for pid in found:
        for child in children.get(pid, ()):
            family[child] = family[pid] + 1
            found.append(child)
    return family


def cpu(pids: Iterable[int]) -> float:
    """Add up the processor time of processes and of the children they waited for, in seconds."""
    return sum(map(sum, map(times, pids)))


def times(pid: int) -> tuple[float, float]:
    """Return the processor time of a process, and of the children it waited for, in seconds."""
    fields = _fields(pid)
    return (_own_cpu(pid, fields), _children_cpu(fields)) if fields else (0.0, 0.0)


def pss(pids: Iterable[int]) -> int:
    """Add up the proportional set size: shared pages are divided among the processes that share them."""
    return sum(_rollup(pid, "Pss:") for pid in pids)


def rss(pids: Iterable[int]) -> int:
    """Add up the resident set size: shared pages are counted again for every process."""
    return sum(_rollup(pid, "Rss:") for pid in pids)


def _fields(pid: int) -> list[str] | None:
    """Return the fields behind a process's name (state, parent and so on), or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2 :].split()


def _own_cpu(pid: int, fields: list[str]) -> float:
    try:
        # The process's own clock counts nanoseconds, /proc only ticks of 10 ms.
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:  # a zombie has no clock any more
        return (int(fields[11]) + int(fields[12])) / _TICK


def _children_cpu(fields: list[str]) -> float:
    return (int(fields[13]) + int(fields[14])) / _TICK


def _rollup(pid: int, field: str) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(field)) * 1024
    except (FileNotFoundError, ProcessLookupError):
        return 0
