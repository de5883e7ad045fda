"""The time that an agent's process waited for others, which counts for no time-out.

The shim reads the file when a time-out seems to have passed (`runners/shim/wait_clock.py`).
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class WaitClock:
    """`with wait_clock:` is time that does not count; several at once count once."""

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
    """Return how many seconds a run waited before it died; `now` is monotonic.

    If it died while it waited, it waited until now.
    """
    try:
        with open(f"{directory}/held") as file:
            total, since, _ = map(float, file.read(200).split())
    except (OSError, ValueError):
        return 0.0
    return total + max(0.0, now - since) if since else total
