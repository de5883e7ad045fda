"""A trigger: when a task runs.

A task with `Now` or `At` runs once. One with `Every`, `Cron` or `On` is recurring: it has a state of its own,
its trigger can be paused, and each time it fires is one more run.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.codec import JsonCodec
from errands.model.record import record
from errands.model.text.duration import exact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any, Literal

    # What to do about missed slots: run the newest, none, or all in turn.
    Misfire = Literal["once", "skip", "all"]

MISFIRES: tuple[Misfire, ...] = ("once", "skip", "all")
NOTHING = timedelta()


@record
class Now:
    """As soon as its lane has room and its dependencies have completed."""


@record
class At:
    """Once, not before this time."""

    time: datetime


@record
class Every:
    """Repeatedly, at whole multiples of `span` after `anchor`.

    The slots depend on nothing that happens later, so restarts and delays never shift them.
    """

    span: timedelta
    anchor: datetime
    zone: str = "UTC"  # of the active hours
    hours: str = ""
    jitter: timedelta = NOTHING
    misfire: Misfire = "once"
    max_age: timedelta | None = None
    max_runs: int | None = None


@record
class Cron:
    """Repeatedly, whenever the wall clock of a zone matches the cron line."""

    line: str
    zone: str = "UTC"
    hours: str = ""
    jitter: timedelta = NOTHING
    misfire: Misfire = "once"
    max_age: timedelta | None = None
    max_runs: int | None = None


@record
class On:
    """Whenever a source of events signals a change of a subject.

    A burst of signals is one run: it starts `debounce` after the last one, and at most `max_wait` after the
    first. At most `rate` runs start in an hour.
    """

    source: str
    subject: str = ""
    options: Mapping[str, str] = {}
    debounce: timedelta = timedelta(seconds=2)
    max_wait: timedelta = timedelta(seconds=30)
    rate: int = 60
    max_runs: int | None = None


if TYPE_CHECKING:
    Schedule = Every | Cron
    Standing = Every | Cron | On
    Trigger = Now | At | Every | Cron | On

_CODECS: dict[str, JsonCodec[Any]] = {
    "every": JsonCodec(Every),
    "cron": JsonCodec(Cron),
    "on": JsonCodec(On),
}


def recurring(trigger: Trigger) -> Standing | None:
    """Return the trigger of a recurring task; None for a task that runs once."""
    return trigger if isinstance(trigger, (Every, Cron, On)) else None


def described(trigger: Trigger) -> str:
    """Describe when a task runs, in a few words."""
    match trigger:
        case Now():
            return "now"
        case At(time=time):
            return f"at {str(time)[:19]} UTC"
        case Every(span=span):
            words = [f"every {exact(span)}"]
        case Cron(line=line, zone=zone):
            words = [f"cron {line} ({zone})"]
        case On(source=source, subject=subject, options=options):
            said = [f"on {source}:{subject}" if subject else f"on {source}"]
            return ", ".join([*said, *(f"{name} {value}" for name, value in options.items())])
    if trigger.hours:
        zone = "" if isinstance(trigger, Cron) else f" ({trigger.zone})"
        words.append(f"within {trigger.hours}{zone}")
    if trigger.jitter:
        words.append(f"up to {exact(trigger.jitter)} later")
    return ", ".join(words)


def as_plain(trigger: Standing) -> dict[str, Any]:
    """Flatten the trigger of a recurring task: durations in seconds, only what is not the default."""
    kind = type(trigger).__name__.lower()
    return {"kind": kind, **_CODECS[kind].encode(trigger)}


def from_plain(flat: Mapping[str, Any]) -> Standing:
    """Read what `as_plain` wrote."""
    values = dict(flat)
    trigger: Standing = _CODECS[values.pop("kind")].decode(values)
    return trigger
