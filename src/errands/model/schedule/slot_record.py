"""A slot record: what became of one due time of a schedule, or of several in a row.

Every slot ends in exactly one record. `advance` decides about all slots that are due; its caller writes the
records, the run and the new cursor in one transaction.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

from errands.model.record import record
from errands.model.schedule.slots import fire_time, next_active, quiet_test, slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime
    from typing import Literal

    from errands.model.trigger import Schedule

    # A `waiting` slot runs when those before it have ended.
    SlotOutcome = Literal["waiting", "ran", "late", "coalesced", "skipped", "missed"]

RAN: tuple[SlotOutcome, ...] = ("waiting", "ran", "late")
BATCH = 5000  # slots decided at a time
MOST_WAITING = 100  # slots that wait for their turn, with misfire `all`
LATE = timedelta(minutes=1)  # a slot processed later than this was missed at its time

QUIET = "outside of active hours"
OVERLAP = "the run before it had not ended"
AWAY = "the daemon was not running at its time"
TOO_OLD = "older than its maximum age"
TOO_MANY = "too many had waited"
LATER = "a later one ran in its place"
_WAITS: tuple[SlotOutcome, str] = ("waiting", "")


@record
class Slot:
    """A record of the `count` slots from `slot` to `until`; `run` is the number of their run."""

    slot: datetime
    until: datetime
    count: int
    outcome: SlotOutcome
    at: datetime
    reason: str = ""
    run: int | None = None


@record
class Advance:
    """What to write: records, the slot that runs now, the new cursor, and when the schedule fires next."""

    records: tuple[Slot, ...]
    run: Slot | None
    until: datetime
    next_at: datetime | None


def advance(
    schedule: Schedule,
    task_id: str,
    *,
    since: datetime,
    now: datetime,
    is_busy: bool,
    taken: Collection[datetime] = (),
    waiting: Sequence[datetime] = (),
) -> Advance:
    """Decide about every slot after `since` that is due.

    `taken` are slots that ran before the clock was set back, `waiting` those whose turn has not come.
    """
    due = _due(schedule, task_id, since, now)
    is_all = len(due) <= BATCH
    due = due[:BATCH]
    until = due[-1] if due else since
    fresh = [each for each in due if each not in taken]
    decided, run = _decided(schedule, fresh, now, is_busy, is_all, waiting)
    following = next_active(schedule, after=until)
    return Advance(
        records=tuple(_spans(due, decided, now)),
        run=None if run is None else _record([run], (_ran(schedule, run, now), ""), now),
        until=until,
        next_at=now if not is_all else None if following is None else fire_time(schedule, task_id, following),
    )


def _due(schedule: Schedule, task_id: str, since: datetime, now: datetime) -> list[datetime]:
    """Return the due slots, oldest first, at most one more than a batch."""
    found: list[datetime] = []
    for slot in islice(slots(schedule, after=since), BATCH + 1):
        if slot > now:
            break
        found.append(slot)
    # Each fires before the next one is due, so only the last may still have to wait for its jitter.
    if found and fire_time(schedule, task_id, found[-1]) > now:
        found.pop()
    return found


def _decided(
    schedule: Schedule,
    due: Iterable[datetime],
    now: datetime,
    is_busy: bool,
    is_all: bool,
    waiting: Sequence[datetime],
) -> tuple[dict[datetime, tuple[SlotOutcome, str]], datetime | None]:
    """Return what becomes of each slot, and which one runs now."""
    decided: dict[datetime, tuple[SlotOutcome, str]] = {}
    good: list[datetime] = []
    is_quiet = quiet_test(schedule)
    for slot in due:
        if is_quiet(slot):
            decided[slot] = ("skipped", QUIET)
        elif schedule.max_age is not None and now - slot > schedule.max_age:
            decided[slot] = ("missed", TOO_OLD)
        elif schedule.misfire == "skip" and _is_late(schedule, slot, now):
            decided[slot] = ("missed", AWAY)
        else:
            good.append(slot)
    if schedule.misfire == "all":
        return decided, _in_turn(schedule, good, decided, now, is_busy, waiting)
    if is_busy:
        decided.update((slot, ("skipped", OVERLAP)) for slot in good)
        return decided, None
    if not is_all:  # a later one runs, in the next batch
        decided.update((slot, ("coalesced", LATER)) for slot in good)
        return decided, None
    decided.update((slot, ("coalesced", LATER)) for slot in good[:-1])
    return decided, good[-1] if good else None


def _in_turn(
    schedule: Schedule,
    good: list[datetime],
    decided: dict[datetime, tuple[SlotOutcome, str]],
    now: datetime,
    is_busy: bool,
    waiting: Sequence[datetime],
) -> datetime | None:
    """Let missed slots wait for their turn; skip those that only overlap with the current run."""
    if is_busy:
        decided.update((slot, ("skipped", OVERLAP)) for slot in good if not _is_late(schedule, slot, now))
        good = [slot for slot in good if slot not in decided]
    run = None
    if not is_busy:
        run = waiting[0] if waiting else good.pop(0) if good else None
    room = max(MOST_WAITING - len(waiting), 0)
    too_many = max(len(good) - room, 0)
    for slot in good[:too_many]:
        decided[slot] = ("missed", TOO_MANY)
    for slot in good[too_many:]:
        decided[slot] = _WAITS
    return run


def _is_late(schedule: Schedule, slot: datetime, now: datetime) -> bool:
    return now - slot > LATE + schedule.jitter


def _ran(schedule: Schedule, slot: datetime, now: datetime) -> SlotOutcome:
    return "late" if _is_late(schedule, slot, now) else "ran"


def _spans(
    due: Sequence[datetime], decided: dict[datetime, tuple[SlotOutcome, str]], now: datetime
) -> Iterable[Slot]:
    """Merge neighbours with the same outcome into one record; those that wait keep one each."""
    run: list[datetime] = []
    fate: tuple[SlotOutcome, str] | None = None
    for slot in due:
        other = decided.get(slot)
        if run and (other != fate or other == _WAITS):
            yield _record(run, fate, now)
            run = []
        fate = other
        if other is not None:
            run.append(slot)
    if run:
        yield _record(run, fate, now)


def _record(slots: Sequence[datetime], fate: tuple[SlotOutcome, str] | None, now: datetime) -> Slot:
    assert fate is not None
    outcome, reason = fate
    return Slot(slot=slots[0], until=slots[-1], count=len(slots), outcome=outcome, at=now, reason=reason)
