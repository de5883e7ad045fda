"""The part of the store that views and metrics read: what changed, rows of lists, and totals."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class ReportStore(Protocol):
        def data_version(self) -> tuple[int, int]:
            """Return numbers that differ as soon as this or another process has changed anything."""

        def running_ids(self) -> list[str]:
            """Return the ids of the running runs, as cheaply as a view can ask many times a second."""
