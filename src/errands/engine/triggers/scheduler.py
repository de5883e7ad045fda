"""The scheduler: queues a run for every slot of a schedule that is due and should run.

The record of a slot, its run and the schedule's cursor are one transaction, and of two daemons only one can
write it: a slot that has a record never runs again, whatever crashes and whatever the clock does.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from errands.engine.notices.outbox import enqueue
from errands.engine.triggers.debounce import drop_signals, run_for_signals
from errands.model.errors import BadValue
from errands.model.record import evolve
from errands.model.schedule.cursor import RAN_ENOUGH
from errands.model.schedule.slot_record import RAN, advance
from errands.model.schedule.slots import fire_time, next_active, slots
from errands.model.text.duration import spoken
from errands.model.trigger import Cron, Every

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.schedule.cursor import ScheduleCursor
    from errands.model.schedule.slot_record import Slot
    from errands.model.task import Task
    from errands.model.trigger import Schedule
    from errands.ports.store import Store

BATCH = 200  # recurring tasks in one transaction
JUMP = timedelta(seconds=5)  # difference between the two clocks that is worth a warning
# A clock that goes back further was wrong before: what it showed never happened.
FURTHEST = timedelta(days=7)
_LOG = logging.getLogger("errands.scheduler")


class Scheduler:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: tuple[datetime, float] | None = None

    def clock_went_back(self, now: datetime, monotonic: float) -> bool:
        """Return whether the wall clock went back since the last call; warn if it jumped either way."""
        seen, self._seen = self._seen, (now, monotonic)
        if seen is None:
            return True  # unknown, so assume the worst
        jump = now - seen[0] - timedelta(seconds=monotonic - seen[1])
        if abs(jump) > JUMP:
            _LOG.warning("the clock went %s by %s", "on" if jump > JUMP else "back", spoken(abs(jump)))
        return now < seen[0]

    def rewind(self, now: datetime) -> None:
        """Move cursors and retries back to a clock that was set back; slots that ran do not run again.

        Call it inside a transaction.
        """
        self._store.rewind_retries(now=now)
        for task, cursor in self._store.schedules_ahead(now):
            schedule = task.trigger
            if not isinstance(schedule, (Every, Cron)):
                continue
            try:
                self._rewind(task, schedule, cursor, now)
            except BadValue as error:
                self._pause(task, error, now)
        for task_id in self._store.watched_tasks():
            if self._store.waiting_signals(task_id)[0]:
                # The clock that was wrong may have put it off.
                self._store.set_next_fire(task_id, now)

    def _rewind(self, task: Task, schedule: Schedule, cursor: ScheduleCursor, now: datetime) -> None:
        store = self._store
        is_far = cursor.processed_until - now > FURTHEST
        next_at = next_fire(schedule, task.id, after=now)
        for record in store.slots(task.id, after=now):
            if is_far or record.outcome not in RAN:
                store.trim_slot(task.id, record, _part_before(schedule, record, now))
        back = spoken(cursor.processed_until - now)
        store.add_event(task.id, "clock went back", run=None, now=now, detail=f"by {back} or more")
        store.advance(task.id, since=cursor.processed_until, until=now, next_at=next_at)

    def fire_due(self, now: datetime) -> list[str]:
        """Fire the triggers that are due; return the tasks that changed. Call it inside a transaction."""
        changed = []
        for task, cursor, is_busy in self._store.due_schedules(now=now, limit=BATCH):
            is_busy = is_busy or task.state == "proposed"
            if task.state not in ("active", "proposed"):
                self._store.set_next_fire(task.id, None)  # it has ended since
                continue
            if isinstance(task.trigger, (Every, Cron)):
                has_changed = self._advance(task, task.trigger, cursor, now, is_busy=is_busy)
            else:
                has_changed = run_for_signals(self._store, task, cursor, now, is_busy=is_busy)
            if has_changed:
                changed.append(task.id)
        return changed

    def _advance(
        self, task: Task, schedule: Schedule, cursor: ScheduleCursor, now: datetime, *, is_busy: bool
    ) -> bool:
        store = self._store
        is_in_turn = schedule.misfire == "all"
        try:
            step = advance(
                schedule,
                task.id,
                since=cursor.processed_until,
                now=now,
                is_busy=is_busy,
                taken=frozenset(each.slot for each in store.slots(task.id, after=cursor.processed_until)),
                waiting=store.waiting_slots(task.id) if is_in_turn else (),
            )
        except BadValue as error:
            self._pause(task, error, now)
            return True
        starts = step.run is not None
        is_last = schedule.max_runs is not None and cursor.runs + int(starts) >= schedule.max_runs
        next_at = None if is_last else step.next_at
        since = cursor.processed_until
        if not store.advance(task.id, since=since, until=step.until, next_at=next_at, runs=int(starts)):
            return False
        records = list(step.records)
        if step.run is not None:
            number = store.add_run(task.id, cause="schedule", now=now).number
            records = [evolve(each, run=number) if each.outcome == "coalesced" else each for each in records]
            records.append(evolve(step.run, run=number))
        store.add_slots(task.id, records)
        if is_last and is_in_turn:
            store.close_slots(task.id, "missed", RAN_ENOUGH)
        return bool(records)

    def _pause(self, task: Task, error: BadValue, now: datetime) -> None:
        """Pause and report a task whose schedule is no longer valid: its time zone may be gone."""
        _LOG.error("task %s is paused: %s", task.id, error)
        self._store.set_next_fire(task.id, None)
        self._store.move_task(task.id, "pause", now=now)
        why = f"it is paused, because its schedule is no longer valid: {error}"
        event = f"paused {now:%Y-%m-%d %H:%M:%S}"
        enqueue(self._store, task, f"{task.id}.1", event, state="paused", error=why, now=now)


def next_fire(schedule: Schedule, task_id: str, *, after: datetime) -> datetime | None:
    """Return when a schedule fires next after a moment."""
    slot = next_active(schedule, after=after)
    return None if slot is None else fire_time(schedule, task_id, slot)


def close_due_slots(store: Store, task: Task, *, now: datetime, reason: str) -> None:
    """Record what became of the slots that are due and have no record yet, when a task is paused or ends."""
    cursor = store.cursor(task.id)
    schedule = task.trigger
    drop_signals(store, task, now=now, reason=reason)
    if cursor is None or cursor.next_at is None or not isinstance(schedule, (Every, Cron)):
        return
    is_open = True
    since = cursor.processed_until
    while is_open:
        step = advance(schedule, task.id, since=since, now=now, is_busy=True)
        is_open = step.until > since and step.next_at == now
        store.advance(task.id, since=since, until=step.until, next_at=None)
        store.add_slots(task.id, step.records)
        since = step.until
    store.close_slots(task.id, "missed", reason)


def _part_before(schedule: Schedule, record: Slot, now: datetime) -> Slot | None:
    if record.slot > now:
        return None
    count, until = 0, record.slot
    for slot in slots(schedule, after=record.slot - record.slot.resolution):
        if slot > min(now, record.until):
            break
        count, until = count + 1, slot
    return evolve(record, until=until, count=max(count, 1))
