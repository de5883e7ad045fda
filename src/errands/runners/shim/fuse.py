"""The fuse of a run that another host placed here: without a sign of life from the fleet, its tree ends.

The host process keeps moving a deadline while it reaches the fleet. When the deadline passes, the fleet may
soon give the run to another host, so the shim ends it without asking anyone: daemon and host process may be
gone. Unlike the clock of time-outs, this one keeps running while the machine is suspended.
"""

from __future__ import annotations

import time

from errands.ports.home import boottime, read_fuse

LOOK = 1.0  # seconds between two checks of the deadline, at most
GRACE = 4.0  # seconds after the deadline when every process has been killed


class Fuse:
    """`due` is when to look again, on the monotonic clock, and `kill_at` when no process may be left."""

    def __init__(self, path: str) -> None:
        self.due = 0.0
        self.kill_at = 0.0
        self.is_burnt = False
        self._path = path

    def look(self, now: float) -> bool:
        """Return whether the deadline has passed, or is not known; once it has, that is final."""
        if self.is_burnt or now < self.due:
            return self.is_burnt
        deadline = read_fuse(self._path)
        # The host process removes it when the fleet gave this host up: another one may have the run by now.
        left = -GRACE if deadline is None else deadline - boottime()
        self.is_burnt = left <= 0.0
        self.due = now + min(max(left, 0.0), LOOK)
        self.kill_at = now + left + GRACE
        return self.is_burnt

    def wait(self, most: float | None) -> float:
        """Return how long to wait for a tree that may take `most` seconds; 0 or less: kill it now."""
        now = time.monotonic()
        self.look(now)
        left = min(self.kill_at - now, LOOK)
        return left if most is None else min(most, left)
