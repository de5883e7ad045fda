"""A schedule cursor: how far a recurring task's trigger has been processed, and what its runs came to."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

RAN_ENOUGH = "it has run as often as it should"
SCHEDULED_RETRIES = 1  # of a failed run; when they fail too, the task is paused


@record
class ScheduleCursor:
    """Every slot up to `processed_until` has its record; `next_at` is when the trigger fires next.

    `runs` counts towards the maximum: retries do not. `result` is a digest of the last result.
    """

    processed_until: datetime
    next_at: datetime | None = None
    runs: int = 0
    failures: int = 0
    result: str | None = None
