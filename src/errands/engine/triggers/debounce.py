"""Debounce: turns the signals of an event source into runs, inside the daemon.

A burst of signals is one run. The run, its signals and their record are one transaction, so every signal ends
in exactly one record. Signals that arrive during a run wait for its end, and those beyond the rate wait until
the hour has room again: the last state is always seen.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.record import evolve
from errands.model.schedule.slot_record import Slot
from errands.model.schedule.watch import Watch
from errands.model.trigger import On

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.model.schedule.cursor import ScheduleCursor
    from errands.model.schedule.slot_record import SlotOutcome
    from errands.model.task import Task
    from errands.ports.store import Store

HOUR = timedelta(hours=1)
CHECK_AGAIN = timedelta(seconds=30)  # for a task that is still running; its end usually comes first
JOINED = "joined a run that had not started"


def run_for_signals(
    store: Store, task: Task, cursor: ScheduleCursor, now: datetime, *, is_busy: bool
) -> bool:
    """Queue a run for the waiting signals; return whether anything changed. Call it inside a transaction."""
    trigger = task.trigger
    _, first, last = store.waiting_signals(task.id)
    if not isinstance(trigger, On) or first is None or last is None:
        store.set_next_fire(task.id, None)
        return False
    if is_busy:
        return _join(store, task, now)
    room_at = _room_at(store, task.id, trigger.rate, now)
    if room_at is not None:
        _suspend(store, task.id, trigger, room_at)
        store.set_next_fire(task.id, room_at)
        return True
    if not store.advance(
        task.id, since=cursor.processed_until, until=max(now, cursor.processed_until), next_at=None, runs=1
    ):
        return False
    number = store.add_run(task.id, cause="event", now=now).number
    _record(store, task.id, "ran", number, now)
    watch = store.watch(task.id)
    if watch is not None and watch.broken_until is not None:
        store.save_watch(evolve(watch, health="well", error=None, broken_until=None))
    return True


def drop_signals(store: Store, task: Task, *, now: datetime, reason: str) -> None:
    """Record that the waiting signals lead to no run, when a task is paused or ends."""
    if isinstance(task.trigger, On):
        _record(store, task.id, "missed", 0, now, reason)


def has_waiting(store: Store, task: Task) -> bool:
    """Return whether slots or signals of a task wait for their turn."""
    if isinstance(task.trigger, On):
        return store.waiting_signals(task.id)[0] > 0
    return bool(store.waiting_slots(task.id))


def burst_end(trigger: On, *, first: datetime, last: datetime) -> datetime:
    """Return when a burst of signals becomes a run: when it is over, or has lasted long enough."""
    return min(last + trigger.debounce, first + trigger.max_wait)


def _join(store: Store, task: Task, now: datetime) -> bool:
    """Add signals to a run that has not started yet; otherwise they wait for the end of the current one."""
    latest = store.view(task.id).latest
    if latest.state == "pending" and latest.cause == "event":
        _record(store, task.id, "coalesced", latest.number, now, JOINED)
        store.set_next_fire(task.id, None)
        return True
    store.set_next_fire(task.id, now + CHECK_AGAIN)
    return False


def _record(
    store: Store, task_id: str, outcome: SlotOutcome, run: int, now: datetime, reason: str = ""
) -> None:
    count, first, last = store.waiting_signals(task_id)
    if first is None or last is None:
        return
    store.assign_signals(task_id, run=run)
    slot = Slot(slot=first, until=last, count=count, outcome=outcome, at=now, reason=reason, run=run or None)
    store.add_slots(task_id, [slot])


def _room_at(store: Store, task_id: str, rate: int, now: datetime) -> datetime | None:
    """Return when the rate allows one more run; None if it does now."""
    latest = store.history(task_id, cause="event", limit=rate)
    if len(latest) < rate:
        return None
    room_at = latest[0].created_at + HOUR
    # A time more than an hour away was written by a clock that has been set back since.
    return room_at if now < room_at <= now + HOUR else None


def _suspend(store: Store, task_id: str, trigger: On, until: datetime) -> None:
    watch = store.watch(task_id) or Watch(task_id=task_id)
    error = f"it has run {trigger.rate} times within an hour, as often as its rate allows"
    store.save_watch(evolve(watch, health="broken", error=error, broken_until=until))
