"""Recurring tasks: from a draft to the trigger of its task."""

from __future__ import annotations

from errands.model.errors import BadValue
from errands.model.schedule.event_trigger import event_trigger
from errands.model.trigger import Cron, Every

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from errands.model.options.draft import Draft
    from errands.model.trigger import Standing


def trigger_of(draft: Draft, *, now: datetime, zone: str) -> Standing:
    """Make the trigger of a recurring task; `zone` is the time zone of a draft that names none."""
    if draft.on is not None:
        return event_trigger(draft)
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
    schedule: Every | Cron
    if draft.every is not None:
        schedule = Every(span=draft.every, anchor=now, **shared)
    else:
        from errands.model.schedule.cron import check_line

        assert draft.cron is not None
        schedule = Cron(line=check_line(draft.cron), **shared)
    if next_active(schedule, after=now) is None:
        raise BadValue(f"the schedule never falls within the active hours {hours}; change one of them")
    return schedule
