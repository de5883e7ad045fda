"""A trigger: when a task runs."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime


@record
class Now:
    """As soon as its lane has room and what it waits for has completed."""


@record
class At:
    """Once, not before this time."""

    time: datetime
