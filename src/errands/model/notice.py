"""A notice: one message to one address about one event of one run.

It is written in the same transaction as the state it tells of, and is unique per run, event and address:
this is what makes "told exactly once" provable.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    Policy = Literal["always", "on_change", "on_failure", "never"]
    NoticeState = Literal["waiting", "delivered", "unknown", "dead"]

LONGEST_BACKOFF = timedelta(minutes=15)

# The policies a one-shot task can have; `on_change` compares runs, which needs a standing task.
POLICIES: tuple[Policy, ...] = ("always", "on_failure", "never")


@record
class Address:
    """Where a notice goes: a channel, and the place within it."""

    channel: str
    target: str


@record
class Notice:
    id: int
    run_id: str
    event: str
    address: Address
    body: str
    created_at: datetime
    attempts: int = 0
    state: NoticeState = "waiting"
    error: str | None = None


def should_notify(policy: Policy, *, failed: bool) -> bool:
    """Tell whether a run's end is worth a notice."""
    match policy:
        case "always" | "on_change":
            return True
        case "on_failure":
            return failed
        case "never":
            return False
