"""The clock: where time comes from, so that tests can set it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Protocol

    class Clock(Protocol):
        def now(self) -> datetime:
            """Return the wall-clock time, aware and in UTC."""

        def monotonic(self) -> float:
            """Return seconds that never jump, for durations."""
