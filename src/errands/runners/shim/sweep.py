"""The sweep: find and end what a killed shim left behind, and say so in the run's record.

Nobody is trusted by number alone. A process belongs to the run when it carries the run's directory
in its environment, when it is in the session of a command whose start time still fits the record, when it
came to the zygote as an orphan, or when it descends from one of these.
"""

from __future__ import annotations

import fcntl
import os
import time

from errands.ports.rundir import fields_of, record_line, record_lines
from errands.runners.system import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from errands.ports.rundir import Word
    from errands.runners.system.system import System

# Stands in the environment of all processes of a run; its value is the run directory.
MARK = "ERRANDS_RUN_DIR"
_DYING = 1.0
REASON = "its supervisor (shim) was killed"


def sweep(
    system: System,
    path: str,
    *,
    orphans: Callable[[], list[int]],
    spared: Set[int],
) -> None:
    """End the processes of a run whose shim is gone; write into its record how that went.

    A run whose record is locked has a living shim, and one with an exit line is over: both are left alone.
    """
    try:
        record = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return
    try:
        if not _lock(record):
            return
        known = record_lines(os.pread(record, 1 << 20, 0))
        if any(text.startswith("exit ") for text in known):
            return
        leaders = [(int(text.split()[1]), fields_of(text)) for text in known if text.startswith("pid ")]
        mine = {os.getpid(), *system.ancestors(os.getpid())}

        def find() -> list[int]:
            found = dict.fromkeys(system.marked(MARK, os.path.dirname(path)) + orphans())
            for leader, times in leaders:
                if _fits(system, leader, since=float(times["since"]), until=float(times["until"])):
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


def _lock(record: int) -> bool:
    """Lock a record; a shim that is dying may hold it for a moment after its channel is gone."""
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
    """Tell whether a process was started when the record says: then it is no other of that number."""
    started = system.start_time(pid)
    return started is not None and since - system.CLOCK_STEP <= started <= until + system.CLOCK_STEP
