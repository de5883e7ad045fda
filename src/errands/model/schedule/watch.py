"""A watch: what a task that waits for events has seen of its source, and the signals that came of it."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    Health = Literal["new", "well", "failing", "broken"]

HEALTHS: tuple[Health, ...] = ("new", "well", "failing", "broken")


@record
class Watch:
    """`baseline` is what the source looked like when it was last heard, in words of its own.

    A watch that signals too often is `broken_until` a time: until then no run comes of what it hears.
    """

    task_id: str
    baseline: str | None = None
    checked_at: datetime | None = None
    health: Health = "new"
    failures: int = 0
    error: str | None = None
    broken_until: datetime | None = None


@record
class Signal:
    """Something that happened outside; `run` is the number of the run that came of it, 0 if none will."""

    id: int
    task_id: str
    at: datetime
    body: str
    key: str | None = None
    run: int | None = None
