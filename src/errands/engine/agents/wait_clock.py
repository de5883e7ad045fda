"""Held: what an agent's process tells its shim about the time it waits for others.

The shim reads it when a time-out seems to have passed; `runners/shim/wait_clock.py` says what the file means.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class WaitClock:
    """`with held:` is a time that counts for no time-out; several at once count once."""

    def __init__(self, directory: str) -> None:
        self._path = f"{directory}/held"
        self._total = 0.0
        self._since = 0.0
        self._depth = 0

    def __enter__(self) -> WaitClock:
        self._depth += 1
        if self._depth == 1:
            self._since = time.monotonic()
            self._write(self._since, 0.0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            now = time.monotonic()
            self._total += now - self._since
            self._write(0.0, now)

    def _write(self, since: float, last: float) -> None:
        with open(f"{self._path}.new", "w") as file:
            file.write(f"{self._total:.3f} {since:.3f} {last:.3f}")
        os.replace(f"{self._path}.new", self._path)


def held_for(directory: str, *, now: float) -> float:
    """Tell how many seconds a run waited before it died; `now` is of the clock that nobody can set.

    Whoever died while it waited left no end of that: it waited until now, rather than not at all.
    """
    try:
        with open(f"{directory}/held") as file:
            total, since, _ = map(float, file.read(200).split())
    except (OSError, ValueError):
        return 0.0
    return total + max(0.0, now - since) if since else total
