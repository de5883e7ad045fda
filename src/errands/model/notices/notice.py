"""A notice: one message to one address about one event of one run.

It is written in the same transaction as the state it reports, and is unique per run, event and address. That
is why every result is reported exactly once.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.errors import BadValue
from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    Policy = Literal["always", "on_change", "on_failure", "never"]
    NoticeState = Literal["waiting", "delivered", "unknown", "dead"]

LONGEST_BACKOFF = timedelta(minutes=15)

POLICIES: tuple[Policy, ...] = ("always", "on_change", "on_failure", "never")
# What each policy reports, in words.
REPORTS: dict[Policy, str] = {
    "always": "its result",
    "on_change": "what is new",
    "on_failure": "failures",
    "never": "nothing",
}
# The policies that report only some results, in words.
CONDITIONS: dict[Policy, str] = {"on_failure": "if it fails", "on_change": "if its result changes"}


# The name of a channel is a word, because an address and the configuration contain it.
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a channel, or of a webhook."""
    return text[:1].isalpha() and _LETTERS.issuperset(text)


@record
class Address:
    """Where a notice goes: a channel, and a target that the channel understands."""

    channel: str
    target: str

    def __str__(self) -> str:
        return f"{self.channel}:{self.target}" if self.target else self.channel


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
    delivery: int | None = None

    @property
    def task_id(self) -> str:
        return self.run_id.rpartition(".")[0]


def due_in(at: datetime, now: datetime) -> float:
    """Return in how many seconds something is to be sent; 0 if it is due.

    A time beyond any back-off was set by a clock that has since been set back.
    """
    wait = at - now
    return 0.0 if wait > 2 * LONGEST_BACKOFF else max(0.0, wait.total_seconds())


def parse_address(text: str) -> Address:
    """Parse `NAME` or `NAME:TARGET`."""
    name, _, target = text.strip().partition(":")
    if not is_name(name):
        raise BadValue(f"{text!r} is not a channel; write NAME or NAME:TARGET, such as discord:1234")
    if not target.isprintable():
        raise BadValue(f"the target of channel {name} cannot be {target!r}; use printable characters only")
    return Address(channel=name, target=target.strip())


def should_notify(policy: Policy, *, failed: bool, is_empty: bool = False, has_changed: bool = True) -> bool:
    """Return whether the end of a run is reported.

    A failed run has its error to report; a completed one without a result is reported only by `always`. For a
    task that runs once every end is a change.
    """
    match policy:
        case "always":
            return True
        case "on_change":
            return has_changed and (failed or not is_empty)
        case "on_failure":
            return failed
        case "never":
            return False
