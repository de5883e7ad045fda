"""The sweep: find and end the processes that a killed shim left behind, and write that into the run record.

A pid alone is never trusted. A process belongs to the run if it has the run directory in its environment, if
it is in the session of a command whose start time matches the run record, if the zygote inherited it as an
orphan, or if it descends from one of these.
"""

from __future__ import annotations

import fcntl
import os
import time

from errands.ports.own_file import open_own
from errands.ports.rundir import fields_of, make_own, record_line, record_lines
from errands.runners.system import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from errands.ports.rundir import Word
    from errands.runners.system.system import System

# The variable that all processes of a run have; its value is the run directory.
MARK = "ERRANDS_RUN_DIR"
_DYING = 1.0
REASON = "its supervisor (shim) was killed"


def sweep(system: System, path: str, *, orphans: Callable[[], list[int]], spared: Set[int]) -> None:
    """End the processes of a run whose shim is gone, and write an exit line into its run record.

    Do nothing if the run record is locked (the shim is alive) or has an exit line (the run is over).
    """
    try:
        make_own(os.path.dirname(path))
        record = open_own(path, os.O_RDWR | os.O_APPEND)
    except OSError:
        return
    try:
        if not _lock(record):
            return
        known = record_lines(os.pread(record, 1 << 20, 0))
        if any(text.startswith("exit ") for text in known):
            return
        leaders = [found for text in known if (found := _leader(text))]
        mine = {os.getpid(), *system.ancestors(os.getpid())}

        def find() -> list[int]:
            found = dict.fromkeys(system.marked(MARK, os.path.dirname(path)) + orphans())
            for leader, since, until in leaders:
                if _fits(system, leader, since=since, until=until):
                    found.update(dict.fromkeys(system.session(leader)))
            for pid in list(found):
                found.update(dict.fromkeys(system.descendants(pid)))
            return [pid for pid in found if pid not in mine and pid not in spared and system.is_alive(pid)]

        leftovers = len(find())
        survivors = tree.kill(find, by_group=False)
        facts: dict[str, Word] = {"lost": REASON, "leftovers": leftovers}
        if survivors:
            facts["survivors"] = ",".join(map(str, survivors))
        os.write(record, record_line("exit", facts))
    finally:
        os.close(record)


def _leader(text: str) -> tuple[int, float, float] | None:
    """Parse the pid and the start time of a command; None for what the task wrote into its own run record."""
    if not text.startswith("pid "):
        return None
    try:
        times = fields_of(text)
        return int(text.split()[1]), float(times["since"]), float(times["until"])
    except (ValueError, KeyError, IndexError):
        return None


def _lock(record: int) -> bool:
    """Lock a run record; a dying shim may keep it locked for a moment after its channel is closed."""
    give_up = time.monotonic() + _DYING
    while True:
        try:
            fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                return False
            time.sleep(0.001)
        else:
            return True


def _fits(system: System, pid: int, *, since: float, until: float) -> bool:
    """Return whether a process started when the run record says; if not, its pid was reused."""
    started = system.start_time(pid)
    return started is not None and since - system.CLOCK_STEP <= started <= until + system.CLOCK_STEP
