"""An event: a fact we recorded, in the same transaction as the state it tells of."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime


@record
class Event:
    seq: int
    task_id: str
    run: int | None
    name: str
    at: datetime
    detail: str
