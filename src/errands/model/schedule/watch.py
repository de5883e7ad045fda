"""A watch: what a task has seen of its event source so far, and the signals from it."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    Health = Literal["new", "well", "failing", "broken"]


@record
class Watch:
    """`baseline` is what the source looked like last, in the source's own format.

    A watch that signals too often is `broken_until` a time: until then its signals start no run.
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
    """Something that happened outside; `run` is the number of the run it led to, 0 if to none."""

    id: int
    task_id: str
    at: datetime
    body: str
    key: str | None = None
    run: int | None = None
