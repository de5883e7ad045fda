"""The time that an agent's process waited for others, which does not count towards time-outs.

The shim reads it when a time-out seems to have passed; `ports/rundir.py` says what the file means.
"""

from __future__ import annotations

import time

from errands.ports.rundir import write_wait


class WaitClock:
    """`with wait_clock:` is time that does not count; several at once count once."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._total = 0.0
        self._since = 0.0
        self._depth = 0

    def __enter__(self) -> WaitClock:
        self._depth += 1
        if self._depth == 1:
            self._since = time.monotonic()
            self._write(self._since, 0.0)
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            now = time.monotonic()
            self._total += now - self._since
            self._write(0.0, now)

    def _write(self, since: float, last: float) -> None:
        write_wait(self._directory, total=self._total, since=since, last=last)
