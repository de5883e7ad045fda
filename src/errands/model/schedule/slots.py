"""The grid of a schedule: the slots at which it is due, and when each is heard.

A slot is a point in time that depends on the schedule alone. Jitter moves the moment at which it is heard,
never the slot, and always by the same amount: nobody has to remember it.
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

_TRIES = 400  # windows of active hours in which not one slot fell: there will be none


def slots(schedule: Schedule, *, after: datetime) -> Iterator[datetime]:
    """Yield the slots after a moment, in order; those outside of active hours too."""
    if not isinstance(schedule, Every):
        yield from times(schedule.line, schedule.zone, after=after)
        return
    number = max((after - schedule.anchor) // schedule.span, 0)
    while True:
        number += 1
        yield schedule.anchor + number * schedule.span


def next_slot(schedule: Schedule, *, after: datetime) -> datetime | None:
    return next(slots(schedule, after=after), None)


def quietness(schedule: Schedule) -> Callable[[datetime], bool]:
    """Make what tells whether a slot falls outside of active hours."""
    if not schedule.hours:
        return lambda slot: False
    hours, zone = parse_hours(schedule.hours), zone_named(schedule.zone)
    return lambda slot: not is_within(hours, slot, zone)


def next_active(schedule: Schedule, *, after: datetime) -> datetime | None:
    """Give the next slot within active hours; None when there is none any more."""
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


def heard_at(schedule: Schedule, task_id: str, slot: datetime) -> datetime:
    """Tell when a slot is heard: at once, or later by its jitter, but before the slot that follows."""
    if not schedule.jitter:
        return slot
    following = next_slot(schedule, after=slot)
    room = schedule.jitter if following is None else min(schedule.jitter, following - slot)
    return slot + room * _share(f"{task_id} {slot.isoformat()}")


def preview(schedule: Schedule, task_id: str, *, after: datetime, count: int) -> list[datetime]:
    """Give the next times at which a schedule is heard."""
    found: list[datetime] = []
    slot = after
    while len(found) < count:
        following = next_active(schedule, after=slot)
        if following is None:
            break
        slot = following
        found.append(heard_at(schedule, task_id, slot))
    return found


def _share(name: str) -> float:
    """Give a number from 0 up to 1 that is always the same for a name."""
    try:
        from _blake2 import blake2b
    except ImportError:  # pragma: no cover
        from hashlib import blake2b

    return int.from_bytes(blake2b(name.encode(), digest_size=6).digest(), "big") / (1 << 48)
