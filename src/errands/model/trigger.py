"""A trigger: when a task runs.

A task with `Now` or `At` runs once. One with `Every`, `Cron` or `On` is a standing task: it has a state of
its own, its trigger hears or is deaf (paused), and each time it is heard is one more run.
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

    # What becomes of the times that passed while nobody was there: the newest runs, none, or all in turn.
    Misfire = Literal["once", "skip", "all"]

MISFIRES: tuple[Misfire, ...] = ("once", "skip", "all")
NOTHING = timedelta()


@record
class Now:
    """As soon as its lane has room and what it waits for has completed."""


@record
class At:
    """Once, not before this time."""

    time: datetime


@record
class Every:
    """Again and again, at the times of a grid: whole multiples of `span` after `anchor`.

    The grid depends on nothing that happens later, so it never drifts, whoever restarts or is late.
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
    """Again and again, when the clock on the wall of a zone shows what the line says."""

    line: str
    zone: str = "UTC"
    hours: str = ""
    jitter: timedelta = NOTHING
    misfire: Misfire = "once"
    max_age: timedelta | None = None
    max_runs: int | None = None


@record
class On:
    """Whenever something happens outside: `source` says where, `subject` to what.

    A burst of signals is one run: it starts when `debounce` has passed without another, and `max_wait` after
    the first at the latest. No more than `rate` runs are started in an hour.
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
    """Give the trigger of a standing task; None for a task that runs once."""
    return trigger if isinstance(trigger, (Every, Cron, On)) else None


def described(trigger: Trigger) -> str:
    """Say when a task runs, in a few words."""
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
