"""Standing tasks: from what a draft says to the trigger that a task is made with."""

from __future__ import annotations

from datetime import timedelta

from errands.model.errors import BadValue
from errands.model.schedule.event_trigger import check_watch, watch_of
from errands.model.trigger import MISFIRES, NOTHING, Cron, Every

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.model.options.draft import Draft
    from errands.model.trigger import Standing

SHORTEST = timedelta(seconds=1)
_OF_SCHEDULES = ("zone", "hours", "jitter", "misfire", "max_age")


def check_recurring(draft: Draft) -> None:
    """Refuse a schedule that is none, with a sentence that says what to change."""
    given = [name for name in ("at", "every", "cron", "on") if getattr(draft, name) is not None]
    if len(given) > 1:
        raise BadValue(f"a task has one trigger, not {' and '.join(given)}; leave one out")
    if draft.every is None and draft.cron is None:
        stray = [name for name in _OF_SCHEDULES if getattr(draft, name) is not None]
        if stray:
            raise BadValue(f"{stray[0]} is about a schedule; give every or cron too, or leave it out")
    check_watch(draft)
    if draft.max_runs is not None and given in ([], ["at"]):
        raise BadValue("max_runs is about a task that runs again and again; give every, cron or on too")
    if draft.max_runs is not None and draft.max_runs < 1:
        raise BadValue(f"max_runs cannot be {draft.max_runs}; the least is 1")
    if draft.every is not None and draft.every < SHORTEST:
        raise BadValue(f"every cannot be less than a second, and {draft.every.total_seconds():g} s is")
    if draft.misfire is not None and draft.misfire not in MISFIRES:
        raise BadValue(f"misfire cannot be {draft.misfire!r}; choose one of: {', '.join(MISFIRES)}")
    for label, span in (("jitter", draft.jitter), ("max_age", draft.max_age)):
        if span is not None and span <= NOTHING:
            raise BadValue(f"{label} must be longer than nothing; leave it out for none")
    if draft.after:
        raise BadValue(
            "a task that runs again and again waits for no other; leave out the schedule or event, or after"
        )


def trigger_of(draft: Draft, *, now: datetime, zone: str) -> Standing:
    """Make the trigger of a standing task; `zone` is that of whoever says none."""
    if draft.on is not None:
        return watch_of(draft)
    from errands.model.schedule.hours import parse_hours
    from errands.model.schedule.slots import next_active
    from errands.model.schedule.zone import zone_named

    hours = " ".join((draft.hours or "").split())
    # An interval without active hours is the same everywhere.
    named = draft.zone or (zone if draft.cron is not None or hours else "UTC")
    zone_named(named)
    if hours:
        parse_hours(hours)
    schedule: Every | Cron
    if draft.every is not None:
        schedule = Every(
            span=draft.every,
            anchor=now,
            zone=named,
            hours=hours,
            jitter=draft.jitter or NOTHING,
            misfire=draft.misfire or "once",
            max_age=draft.max_age,
            max_runs=draft.max_runs,
        )
    else:
        from errands.model.schedule.cron import check_line

        assert draft.cron is not None
        schedule = Cron(
            line=check_line(draft.cron),
            zone=named,
            hours=hours,
            jitter=draft.jitter or NOTHING,
            misfire=draft.misfire or "once",
            max_age=draft.max_age,
            max_runs=draft.max_runs,
        )
    if next_active(schedule, after=now) is None:
        raise BadValue(f"the schedule never falls within the active hours {hours}; change one of them")
    return schedule
