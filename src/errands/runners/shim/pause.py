"""The pause of a run: while it lasts, no process of its tree runs, and no time-out counts.

The pool writes into the run directory what is wanted, and tells the shim to look; so a new daemon, or the
next attempt of a run, goes on from there. Once every process has stopped, the shim notes
that in the directory.
"""

from __future__ import annotations

import time

from errands.ports import rundir
from errands.runners.system import tree
from errands.runners.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from errands.runners.system.system import System

PATIENCE = 1.0  # seconds to wait at once for all processes to have stopped
BLOCKED = 0.05  # seconds after which a process that waits in the kernel counts as stopped
AGAIN = 0.5  # seconds until processes that have not stopped are tried again
_NEVER = float("inf")


class Pause:
    """`is_on` says whether the run is paused, `due` when its tree must be looked at again."""

    def __init__(self, system: System, directory: str, living: Callable[[], list[int]]) -> None:
        self.is_on = False
        self.due = _NEVER
        self._system = system
        self._directory = directory
        self._living = living
        self._since = 0.0
        self._is_over = False
        self._stopped: set[int] = set()

    def look(self) -> float:
        """Stop or continue the tree as requested; return the length of a pause that ends here."""
        wanted = not self._is_over and rundir.pause_wanted(self._directory) is True
        if wanted and not self.is_on:
            self.is_on, self._since = True, time.monotonic()
        if wanted:
            self.stop()
        elif self.is_on:
            return self._continue()
        return 0.0

    def stop(self) -> None:
        """Stop every process of the tree, parents first; return when none can start another one.

        A signal takes effect only when a process leaves the kernel, where it may be starting a child. So the
        tree is listed until all in it have stopped. One that waits in the kernel may do so for its stopped
        child (`vfork`), and cannot be waited for: the tree counts as stopped, and is looked at again.
        """
        give_up = time.monotonic() + PATIENCE
        while True:
            activities = {pid: self._system.activity(pid) for pid in self._living()}
            active = [pid for pid, activity in activities.items() if activity != "stopped"]
            new = [pid for pid in active if pid not in self._stopped]
            tree.send(new, signal.SIGSTOP)
            self._stopped.update(new)
            if not active:
                self.due = _NEVER
                break
            now = time.monotonic()
            is_blocked = not new and all(activities[pid] == "blocked" for pid in active)
            if now > give_up - (PATIENCE - BLOCKED if is_blocked else 0):
                self.due = now + AGAIN
                if not is_blocked:  # not ours, or a signal was lost: send it again
                    return self._stopped.difference_update(active)
                break
            time.sleep(0.001)
        rundir.note_paused(self._directory, True)

    def end(self) -> None:
        """End the pause for good, because the run is stopped; that continues its processes, too."""
        self._is_over, self.is_on, self.due = True, False, _NEVER
        rundir.note_paused(self._directory, False)

    def _continue(self) -> float:
        self.is_on, self.due = False, _NEVER
        rundir.note_paused(self._directory, False)
        # Children first: a parent that continues must not find them stopped. What had stopped by itself
        # stays.
        tree.send([pid for pid in reversed(self._living()) if pid in self._stopped], signal.SIGCONT)
        self._stopped.clear()
        return time.monotonic() - self._since
