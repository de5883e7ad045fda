"""Slots: the times at which a schedule is due, and when each one fires.

A slot depends on the schedule alone. Jitter delays when it fires, never the slot itself, and always by the
same amount for the same slot, so nothing has to be stored.
"""

from __future__ import annotations

from errands.model.schedule.cron import times
from errands.model.schedule.hours import is_within, next_start, parse_hours
from errands.model.schedule.zone import zone_named
from errands.model.trigger import Every

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from errands.model.trigger import Schedule

_TRIES = 400  # windows of active hours to search for a slot


def slots(schedule: Schedule, *, after: datetime) -> Iterator[datetime]:
    """Yield the slots after a moment, in order, including those outside of active hours."""
    if not isinstance(schedule, Every):
        yield from times(schedule.line, schedule.zone, after=after)
        return
    number = max((after - schedule.anchor) // schedule.span, 0)
    while True:
        number += 1
        yield schedule.anchor + number * schedule.span


def next_slot(schedule: Schedule, *, after: datetime) -> datetime | None:
    return next(slots(schedule, after=after), None)


def quiet_test(schedule: Schedule) -> Callable[[datetime], bool]:
    """Return a function that says whether a slot is outside of active hours."""
    if not schedule.hours:
        return lambda slot: False
    hours, zone = parse_hours(schedule.hours), zone_named(schedule.zone)
    return lambda slot: not is_within(hours, slot, zone)


def next_active(schedule: Schedule, *, after: datetime) -> datetime | None:
    """Return the next slot within active hours; None if there is none."""
    slot = next_slot(schedule, after=after)
    if not schedule.hours:
        return slot
    hours, zone = parse_hours(schedule.hours), zone_named(schedule.zone)
    for _ in range(_TRIES):
        if slot is None or is_within(hours, slot, zone):
            return slot
        begins = next_start(hours, slot, zone)
        slot = next_slot(schedule, after=begins - slot.resolution)
    return None


def fire_time(schedule: Schedule, task_id: str, slot: datetime) -> datetime:
    """Return when a slot fires: at its time, or later by its jitter, but before the next slot."""
    if not schedule.jitter:
        return slot
    following = next_slot(schedule, after=slot)
    room = schedule.jitter if following is None else min(schedule.jitter, following - slot)
    return slot + room * _share(f"{task_id} {slot.isoformat()}")


def preview(schedule: Schedule, task_id: str, *, after: datetime, count: int) -> list[datetime]:
    """Return the next times at which a schedule fires."""
    found: list[datetime] = []
    slot = after
    while len(found) < count:
        following = next_active(schedule, after=slot)
        if following is None:
            break
        slot = following
        found.append(fire_time(schedule, task_id, slot))
    return found


def _share(name: str) -> float:
    """Return a number from 0 up to 1 that is always the same for a name."""
    from errands.model.text.blake2 import blake2b

    return int.from_bytes(blake2b(name.encode(), digest_size=6).digest(), "big") / (1 << 48)
