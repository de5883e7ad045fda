"""The clock: where time comes from, so that tests can turn it by hand."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Protocol

    class Clock(Protocol):
        def now(self) -> datetime:
            """The wall clock, aware and in UTC."""

        def monotonic(self) -> float:
            """Seconds that never jump, for durations."""
