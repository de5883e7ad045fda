"""A hearing: how far a standing task's trigger has heard, and what its runs came to."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

MOST_FAILURES = 2  # in a row; then the task is paused


@record
class ScheduleCursor:
    """`heard` is the last moment up to which every slot has its record, `next_at` when to listen again.

    `runs` counts towards the maximum: retries do not. `result` is a print of what was told last.
    """

    heard: datetime
    next_at: datetime | None = None
    runs: int = 0
    failures: int = 0
    result: str | None = None
