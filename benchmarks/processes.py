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


def tree(root: int) -> dict[int, str]:
    """Return the names of a process and all its descendants by pid."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and (facts := _facts(int(entry))):
            names[int(entry)], parents[int(entry)] = facts[0], int(facts[1][1])
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return {pid: names[pid] for pid in family if pid in names}


def cpu(pids: Iterable[int]) -> float:
    """Add up the processor time of processes and of the children they waited for, in seconds."""
    return sum(_own_cpu(pid, facts[1]) + _children_cpu(facts[1]) for pid in pids if (facts := _facts(pid)))


def pss(pids: Iterable[int]) -> int:
    """Add up the proportional set size: shared pages are divided among the processes that share them."""
    return sum(_rollup(pid, "Pss:") for pid in pids)


def rss(pids: Iterable[int]) -> int:
    """Add up the resident set size: shared pages are counted again for every process."""
    return sum(_rollup(pid, "Rss:") for pid in pids)


def _facts(pid: int) -> tuple[str, list[str]] | None:
    """Return a process's name and the fields after it (state, parent and so on), or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    start, end = text.index("("), text.rindex(")")
    return text[start + 1 : end], text[end + 2 :].split()


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
