"""The scheduler: hears which slots of schedules are due, and has a run queued for those that shall run.

What became of a slot, its run and how far was heard are one transaction, and of two holders one writes it: a
slot that has its record never runs again, whoever dies, and whatever the clock does.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from errands.engine.notices.outbox import enqueue
from errands.engine.triggers.debounce import gather, give_up
from errands.model.errors import BadValue
from errands.model.record import evolve
from errands.model.schedule.slot_record import RAN, advance
from errands.model.schedule.slots import heard_at, next_active, slots
from errands.model.text.duration import spoken
from errands.model.trigger import Cron, Every

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.schedule.cursor import ScheduleCursor
    from errands.model.schedule.slot_record import Slot
    from errands.model.task import Task
    from errands.model.trigger import Schedule
    from errands.ports.store import Store

BATCH = 200  # standing tasks that are heard in one transaction
JUMP = timedelta(seconds=5)  # by which two clocks may differ between two looks
# A clock that goes back further was wrong before: what it showed has not happened.
FURTHEST = timedelta(days=7)
_LOG = logging.getLogger("errands.scheduler")


class Scheduler:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: tuple[datetime, float] | None = None

    def has_gone_back(self, now: datetime, monotonic: float) -> bool:
        """Compare the clock on the wall with one that nobody sets, since the last look; tell of a jump."""
        seen, self._seen = self._seen, (now, monotonic)
        if seen is None:
            return True  # nobody knows what happened before
        jump = now - seen[0] - timedelta(seconds=monotonic - seen[1])
        if abs(jump) > JUMP:
            _LOG.warning("the clock went %s by %s", "on" if jump > JUMP else "back", spoken(abs(jump)))
        return now < seen[0]

    def rewind(self, now: datetime) -> None:
        """Be ready to hear again what a clock that was put back shows once more; what ran does not run again.

        Call it inside a transaction.
        """
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
                self._store.set_next_fire(
                    task_id, now
                )  # it may have been put off by the clock that was wrong

    def _rewind(self, task: Task, schedule: Schedule, cursor: ScheduleCursor, now: datetime) -> None:
        store = self._store
        is_far = cursor.heard - now > FURTHEST
        next_at = first_cursor(schedule, task.id, after=now)
        for record in store.slots(task.id, after=now):
            if is_far or record.outcome not in RAN:
                store.trim_slot(task.id, record, _until(schedule, record, now))
        back = spoken(cursor.heard - now)
        store.add_event(task.id, "clock went back", run=None, now=now, detail=f"by {back} or more")
        store.advance(task.id, since=cursor.heard, until=now, next_at=next_at)

    def turn(self, now: datetime) -> list[str]:
        """Hear what is due; give the tasks that changed by it. Call it inside a transaction."""
        changed = []
        for task, cursor, is_busy in self._store.due_schedules(now=now, limit=BATCH):
            schedule = task.trigger
            if task.state not in ("active", "proposed"):
                self._store.set_next_fire(task.id, None)  # it has ended since
            elif not isinstance(schedule, (Every, Cron)):
                if gather(self._store, task, cursor, now, is_busy=is_busy or task.state == "proposed"):
                    changed.append(task.id)
            elif self._hear(task, schedule, cursor, now, is_busy=is_busy or task.state == "proposed"):
                changed.append(task.id)
        return changed

    def _hear(
        self, task: Task, schedule: Schedule, cursor: ScheduleCursor, now: datetime, *, is_busy: bool
    ) -> bool:
        store = self._store
        is_in_turn = schedule.misfire == "all"
        try:
            heard = advance(
                schedule,
                task.id,
                heard=cursor.heard,
                now=now,
                is_busy=is_busy,
                taken=frozenset(each.slot for each in store.slots(task.id, after=cursor.heard)),
                waiting=store.waiting_slots(task.id) if is_in_turn else (),
            )
        except BadValue as error:
            self._pause(task, error, now)
            return True
        starts = heard.run is not None
        is_last = schedule.max_runs is not None and cursor.runs + int(starts) >= schedule.max_runs
        next_at = None if is_last else heard.next_at
        if not store.advance(
            task.id, since=cursor.heard, until=heard.until, next_at=next_at, runs=int(starts)
        ):
            return False
        records = list(heard.records)
        if heard.run is not None:
            number = store.add_run(task.id, cause="schedule", now=now).number
            records = [evolve(each, run=number) if each.outcome == "coalesced" else each for each in records]
            records.append(evolve(heard.run, run=number))
        store.add_slots(task.id, records)
        if is_last and is_in_turn:
            store.close_slots(task.id, "missed", "it has run as often as it should")
        return bool(records)

    def _pause(self, task: Task, error: BadValue, now: datetime) -> None:
        """Pause a task whose schedule means nothing any more, as when its zone is gone, and tell of it."""
        _LOG.error("task %s is paused: %s", task.id, error)
        self._store.set_next_fire(task.id, None)
        self._store.move_task(task.id, "pause", now=now)
        why = f"it is paused, its schedule cannot be heard: {error}"
        event = f"paused {now:%Y-%m-%d %H:%M:%S}"
        enqueue(self._store, task, f"{task.id}.1", event, state="paused", error=why, now=now)


def first_cursor(schedule: Schedule, task_id: str, *, after: datetime) -> datetime | None:
    """Tell when a schedule is first heard after a moment."""
    slot = next_active(schedule, after=after)
    return None if slot is None else heard_at(schedule, task_id, slot)


def close_books(store: Store, task: Task, *, now: datetime, reason: str) -> None:
    """Write down what became of the slots that were due and not heard yet, when a trigger is made deaf."""
    cursor = store.cursor(task.id)
    schedule = task.trigger
    give_up(store, task, now=now, reason=reason)
    if cursor is None or cursor.next_at is None or not isinstance(schedule, (Every, Cron)):
        return
    is_open = True
    since = cursor.heard
    while is_open:
        heard = advance(schedule, task.id, heard=since, now=now, is_busy=True)
        is_open = heard.until > since and heard.next_at == now
        store.advance(task.id, since=since, until=heard.until, next_at=None)
        store.add_slots(task.id, heard.records)
        since = heard.until
    store.close_slots(task.id, "missed", reason)


def _until(schedule: Schedule, record: Slot, now: datetime) -> Slot | None:
    """Give the part of a record that lies before a moment."""
    if record.slot > now:
        return None
    count, until = 0, record.slot
    for slot in slots(schedule, after=record.slot - record.slot.resolution):
        if slot > min(now, record.until):
            break
        count, until = count + 1, slot
    return evolve(record, until=until, count=max(count, 1))
