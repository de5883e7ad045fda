"""A world with a manual clock: a store with one schedule, and the schedulers of one or more daemons."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from errands.engine.daemon.outcome import after_scheduled_run
from errands.engine.triggers.scheduler import Scheduler, next_fire
from errands.model.rollup import rollup
from errands.model.schedule.cursor import ScheduleCursor
from errands.model.schedule.slots import fire_time, slots
from errands.model.trigger import Cron, Every
from errands.stores.sqlite.connection import Connection
from errands.stores.sqlite.store import SqliteStore
from tests.hand_clock import START, HandClock
from tests.samples import sample_ending, sample_task

Schedule = Every | Cron
MINUTE = timedelta(minutes=1)


def expanded(schedule: Schedule, first: datetime, last: datetime) -> list[datetime]:
    """Return every slot that a record covers."""
    found: list[datetime] = []
    for slot in slots(schedule, after=first - timedelta.resolution):
        if slot > last:
            return found
        found.append(slot)
    return found


class World:
    """A store, its schedules, and schedulers that fire them; runs are started and ended by hand."""

    def __init__(self, place: Path, schedule: Schedule, *, schedulers: int = 1) -> None:
        self.clock = HandClock()
        self.schedule = schedule
        self.stores = [
            SqliteStore(Connection(str(place / "home" / "errands.db")), "/runs") for _ in range(schedulers)
        ]
        self.schedulers = [Scheduler(store) for store in self.stores]
        self.store = self.stores[0]
        self.task = sample_task(trigger=schedule)
        self.started: list[datetime] = []
        self.latest = START
        with self.store:
            first = next_fire(schedule, self.task.id, after=START)
            assert self.store.add_recurring(self.task, ScheduleCursor(processed_until=START, next_at=first))

    def close(self) -> None:
        for store in self.stores:
            store.close()

    def fire_due_slots(self, number: int = 0) -> None:
        """Fire what is due, as the loops do, until nothing is."""
        now, store, scheduler = self.clock.now(), self.stores[number], self.schedulers[number]
        self.latest = max(self.latest, now)
        if scheduler.clock_went_back(now, self.clock.monotonic()):
            with store:
                scheduler.rewind(now)
        while (due := store.next_due("schedules")) is not None and due <= now:
            with store:
                changed = scheduler.fire_due(now)
            for task_id in changed:
                run = store.view(task_id).latest
                records = [each for each in store.slots(task_id, limit=2000) if each.run == run.number]
                begun = [each.slot for each in records if each.outcome in ("ran", "late")]
                if run.state == "pending" and begun and begun[0] not in self.started:
                    self.started.append(begun[0])
                elif run.state == "pending" and begun:
                    pytest.fail(f"slot {begun[0]} has run twice")
                self.end_run()

    def end_run(self) -> None:
        """Start and end the queued run."""
        with self.store:
            for task, run in self.store.claim("shell", limit=1, now=self.clock.now()):
                cursor = self.store.cursor(task.id)
                outcome = rollup(task, run, sample_ending(), cursor=cursor, backoff=MINUTE)
                self.store.end(run, outcome, sample_ending(), summary=None, now=self.clock.now())
                after_scheduled_run(self.store, task, run, outcome, now=self.clock.now())

    def check(self) -> None:
        """Check that every slot so far has exactly one record, and every run its own slot."""
        recorded = [
            slot
            for record in self.store.slots(self.task.id)
            for slot in expanded(self.schedule, record.slot, record.until)
        ]
        assert len(recorded) == len(set(recorded)), "a slot has two records"
        counted = sum(record.count for record in self.store.slots(self.task.id))
        assert counted == len(recorded), "a record counts its slots wrong"
        cursor = self.store.cursor(self.task.id)
        assert cursor is not None
        now = self.clock.now()
        due = [
            each
            for each in expanded(self.schedule, START, now)
            if each > START and fire_time(self.schedule, self.task.id, each) <= now
        ]
        assert set(due) - set(recorded) == set(), "a slot has no record"
        ran = [each for each in self.store.slots(self.task.id) if each.outcome in ("ran", "late")]
        assert sorted(self.started) == sorted(each.slot for each in ran)
        assert len({each.run for each in ran}) == len(ran) == cursor.runs
