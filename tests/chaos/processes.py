"""Processes as /proc shows them: the descendants of the harness, their states and their marks.

The harness is a subreaper, so everything the engine starts stays below it, whichever process dies.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    session: int
    state: str
    words: tuple[str, ...]

    @property
    def is_zombie(self) -> bool:
        return self.state in "ZX"

    def variable(self, name: str) -> str | None:
        """Read a variable of the environment it was started with."""
        prefix = f"{name}=".encode()
        for entry in _read(f"/proc/{self.pid}/environ").split(b"\0"):
            if entry.startswith(prefix):
                return entry[len(prefix) :].decode(errors="replace")
        return None


def become_subreaper() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def below(root: int) -> list[Process]:
    """List all processes below one, parents before their children."""
    children: dict[int, list[Process]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal() and (found := _process(int(name))) is not None:
            children.setdefault(found.parent, []).append(found)
    listed: list[Process] = []
    level = [root]
    while level:
        found_here = [child for pid in level for child in children.pop(pid, ())]
        listed += found_here
        level = [each.pid for each in found_here]
    return listed


def send_signal(pid: int, number: int) -> bool:
    """Send a signal to a descendant, and to no other process; return False when it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not any(each.pid == pid and not each.is_zombie for each in below(os.getpid())):
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)


def wait_until(fact: Callable[[], bool], *, within: float, every: float = 0.005) -> bool:
    """Wait for a condition until the timeout; return whether it came true."""
    deadline = time.monotonic() + within
    while not fact():
        if time.monotonic() > deadline:
            return False
        time.sleep(every)
    return True


def with_mark(processes: Iterable[Process], run_ids: Iterable[str]) -> list[tuple[str, Process]]:
    """List the living processes that carry the mark of one of these runs."""
    wanted = set(run_ids)
    marked = ((each.variable("ERRANDS_RUN_ID"), each) for each in processes if not each.is_zombie)
    return [(run_id, each) for run_id, each in marked if run_id in wanted]


def _process(pid: int) -> Process | None:
    # The name in brackets may hold anything, brackets too; the fields follow the last one.
    fields = _read(f"/proc/{pid}/stat").rpartition(b") ")[2].split()
    if len(fields) < 4:
        return None
    words = _read(f"/proc/{pid}/cmdline").decode(errors="replace").split("\0")[:-1]
    return Process(pid, int(fields[1]), int(fields[3]), fields[0].decode(), tuple(words))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
