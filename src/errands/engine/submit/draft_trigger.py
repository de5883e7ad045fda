"""The trigger that a draft asks for, in the time zone of the draft, the configuration or the caller."""

from __future__ import annotations

import os

from errands.model.errors import BadValue
from errands.model.trigger import At, Cron, Every, Now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from errands.config import Config
    from errands.model.options.draft import Draft
    from errands.model.task import Task
    from errands.model.trigger import Schedule, Trigger

_LINK = "/etc/localtime"
_NAME = "/etc/timezone"


def drafted_trigger(draft: Draft, config: Config, *, now: datetime) -> Trigger:
    if draft.every is None and draft.cron is None and draft.on is None:
        return Now() if draft.at is None else At(time=draft.at)
    if draft.on is not None:
        from errands.model.schedule.event_trigger import event_trigger

        return event_trigger(draft)
    environ = os.environ if draft.environ is None else draft.environ
    return _schedule(draft, now=now, zone=own_zone(config, environ))


def _schedule(draft: Draft, *, now: datetime, zone: str) -> Schedule:
    """Return the schedule of a recurring task; `zone` is the time zone of a draft that names none."""
    from errands.model.schedule.hours import parse_hours
    from errands.model.schedule.slots import next_active
    from errands.model.schedule.zone import zone_named

    hours = " ".join((draft.hours or "").split())
    # An interval without active hours is the same in every zone.
    named = draft.zone or (zone if draft.cron is not None or hours else "UTC")
    zone_named(named)
    if hours:
        parse_hours(hours)
    chosen: dict[str, Any] = {
        "zone": named,
        "hours": hours,
        "jitter": draft.jitter,
        "misfire": draft.misfire,
        "max_age": draft.max_age,
        "max_runs": draft.max_runs,
    }
    shared = {name: value for name, value in chosen.items() if value is not None}
    schedule: Schedule
    if draft.every is not None:
        schedule = Every(span=draft.every, anchor=now, **shared)
    else:
        from errands.model.schedule.cron import check_line

        assert draft.cron is not None
        schedule = Cron(line=check_line(draft.cron), **shared)
    if next_active(schedule, after=now) is None:
        raise BadValue(f"the schedule never falls within the active hours {hours}; change one of them")
    return schedule


def own_zone(config: Config, environ: Mapping[str, str]) -> str:
    """Return the zone of schedules that name none."""
    zone = config.schedules.zone
    return local_zone(environ) if zone == "local" else zone


def due_time(task: Task, now: datetime) -> datetime | None:
    """Return when a task is to start, if that is later than now."""
    return task.due_at if task.due_at is not None and task.due_at > now else None


def local_zone(environ: Mapping[str, str]) -> str:
    """Return the name of the zone in TZ, or of the machine's; UTC for one without a name."""
    given = environ.get("TZ", "").lstrip(":")
    if given and not given.startswith("/"):
        return given
    _, found, name = os.path.realpath(given or _LINK).partition("zoneinfo/")
    if found:
        return name.removeprefix("posix/").removeprefix("right/")
    try:
        with open(_NAME, encoding="ascii") as file:
            return file.read().strip() or "UTC"
    except (OSError, ValueError):
        return "UTC"
