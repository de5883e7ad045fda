"""Schedules: the verbs and questions about recurring tasks. The scheduler itself runs in the daemon."""

from __future__ import annotations

from errands.engine.log_header import create_log
from errands.engine.triggers.debounce import has_waiting
from errands.engine.triggers.scheduler import close_due_slots, next_fire
from errands.model.errors import BadValue, IllegalMove
from errands.model.record import evolve
from errands.model.schedule.cursor import ScheduleCursor
from errands.model.schedule.slots import preview
from errands.model.schedule.watch import Watch
from errands.model.states import predicate
from errands.model.trigger import Cron, Every, On, recurring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.config import Config
    from errands.engine.core import EngineCore
    from errands.model.options.draft import Draft
    from errands.model.schedule.slot_record import Slot
    from errands.model.task import Task
    from errands.model.trigger import Trigger
    from errands.model.view import View
    from errands.ports.store import Store

COMING = 5  # times that are shown in advance
RECENT = 10  # records of slots that are shown


class Schedules:
    def __init__(self, core: EngineCore) -> None:
        self._core = core
        self._store = core.store

    def pause(self, task_id: str, *, by: str | None = None) -> View:
        """Pause a recurring task; a running run continues, one that has not started is cancelled."""
        core, now = self._core, self._core.clock.now()
        task_id = core.resolve(task_id)
        with self._store:
            task = self._recurring_task(task_id, "paused")
            if task.state != "paused":
                close_due_slots(self._store, task, now=now, reason="paused before its turn")
                self._move(task, "pause", now)
                _withdraw(self._store, self._store.view(task_id), "paused", _who(by), now)
        core.bell.ring_about([task_id])
        return core.summaries([task_id])[0]

    def unpause(self, task_id: str) -> View:
        """Let a paused task fire again from now on, and forget its failures."""
        core, now = self._core, self._core.clock.now()
        task_id = core.resolve(task_id)
        core.ensure_daemon()
        with self._store:
            task = self._recurring_task(task_id, "unpaused")
            if task.state != "active":
                check_room(self._store, core.config)
                self._move(task, "unpause", now)
                if isinstance(task.trigger, On):
                    # What happened during the pause does not count: the source is looked at afresh.
                    self._store.save_watch(Watch(task_id=task_id))
                elif isinstance(task.trigger, Every):
                    # An interval counts from now, not from when the task was made.
                    task = evolve(task, trigger=evolve(task.trigger, anchor=now))
                    self._store.set_trigger(task)
                begin(self._store, task, now=now)
        core.bell.ring_about([task_id])
        return core.summaries([task_id])[0]

    def fire(self, task_id: str) -> View:
        """Run a task now, whatever its trigger says; one whose start was delayed starts."""
        core, now = self._core, self._core.clock.now()
        task_id = core.resolve(task_id)
        core.ensure_daemon()
        with self._store:
            view, task = self._store.view(task_id), self._store.task(task_id)
            trigger = recurring(task.trigger)
            if trigger is None:
                if view.state != "pending" or not self._store.start_now(view.latest.id):
                    how = "" if view.is_live else f"; errands restart {task_id} runs it again"
                    raise IllegalMove(f"task {task_id} {predicate(view.state)} and cannot be fired{how}")
            elif task.state not in ("active", "paused"):
                raise IllegalMove(f"task {task_id} {predicate(task.state)}, so it cannot be run now")
            else:
                run = self._store.add_run(task_id, cause="manual", now=now)
                if (cursor := self._store.cursor(task_id)) is not None:
                    is_last = trigger.max_runs is not None and cursor.runs + 1 >= trigger.max_runs
                    next_at = None if is_last else cursor.next_at
                    self._store.advance(
                        task_id,
                        since=cursor.processed_until,
                        until=cursor.processed_until,
                        next_at=next_at,
                        runs=1,
                    )
                create_log(core.home.runs, task, run)
        core.bell.ring_about([task_id])
        return core.summaries([task_id])[0]

    def cancel(self, view: View, *, by: str, now: datetime) -> list[str]:
        """End a recurring task and its run; return its id if nothing of it is still running.

        Call it inside a transaction.
        """
        store = self._store
        close_due_slots(store, store.task(view.id), now=now, reason="cancelled before its turn")
        if store.move_task(view.id, "cancel", now=now) is None:
            return []
        question = store.question(view.id)
        store.add_event(view.id, "cancelled", run=None, now=now, detail=f"by {by}")
        if view.latest.state == "running":
            store.request_stop(view.latest.id, by=by, now=now)
            return []
        _withdraw(store, view, "cancelled", by, now)
        if question is not None:
            store.answer(question.id, "void", by=by, door="", now=now, note="the task was cancelled")
        return [view.id]

    def count_active(self) -> int:
        return self._store.count_recurring(("active",))

    def watches(self) -> list[tuple[Watch, On]]:
        """List what event sources watch for tasks, with the triggers of the tasks."""
        found = [(each, self._store.task(each.task_id).trigger) for each in self._store.watches()]
        return [(watch, trigger) for watch, trigger in found if isinstance(trigger, On)]

    def coming(self, task_id: str, count: int = COMING) -> list[datetime]:
        """Return when a schedule fires next; nothing while it is paused."""
        task = self._store.task(self._core.resolve(task_id))
        cursor = self._store.cursor(task.id)
        if cursor is None or cursor.next_at is None or task.state != "active":
            return []
        times = _preview(task.trigger, task.id, after=cursor.processed_until, count=count)
        return [cursor.next_at, *times[1:]] if times else []

    def preview(self, draft: Draft, count: int = COMING) -> tuple[Trigger, list[datetime]]:
        """Return when a draft would run, without starting anything."""
        from errands.engine.submit.draft_trigger import drafted_trigger
        from errands.model.options.check import checked

        now = self._core.clock.now()
        draft = checked(draft, now=now)
        trigger = drafted_trigger(draft, self._core.config, now=now)
        return trigger, _preview(trigger, "preview", after=now, count=count)

    def ledger(self, task_id: str, limit: int = RECENT) -> list[Slot]:
        """Return what became of the latest slots, newest first."""
        return self._store.slots(self._core.resolve(task_id), limit=limit)

    def _recurring_task(self, task_id: str, what: str) -> Task:
        task = self._store.task(task_id)
        if recurring(task.trigger) is None:
            raise BadValue(f"task {task_id} runs once, so it cannot be {what}; errands cancel ends it")
        return task

    def _move(self, task: Task, move: str, now: datetime) -> None:
        if self._store.move_task(task.id, move, now=now) is None:
            raise IllegalMove(f"task {task.id} {predicate(task.state)}, so you cannot {move} it")


def begin(store: Store, task: Task, *, now: datetime) -> None:
    """Let a trigger fire from now on."""
    cursor = store.cursor(task.id) or ScheduleCursor(processed_until=now)
    next_at = None
    if isinstance(task.trigger, (Every, Cron)):
        next_at = next_fire(task.trigger, task.id, after=now)
    elif has_waiting(store, task):
        next_at = now
    store.advance(task.id, since=cursor.processed_until, until=now, next_at=next_at)
    store.note_result(task.id, failures=0, result=cursor.result)


def check_room(store: Store, config: Config) -> None:
    """Raise BadValue if there are as many active recurring tasks as the configuration allows."""
    count = store.count_recurring(("active",))
    if count >= config.schedules.most:
        raise BadValue(
            f"{count} recurring tasks are active, and schedules.most allows {config.schedules.most}; "
            "pause or cancel one (errands ls --state active), or allow more"
        )


def _withdraw(store: Store, view: View, what: str, by: str, now: datetime) -> None:
    """Cancel a run that has not started, and record its slot as skipped."""
    run = view.latest
    if view.is_live and run.state == "pending" and store.cancel_pending(run.id, by=by, now=now):
        store.close_slots(view.id, "skipped", f"{what} by {by} before it started", run=run.number)


def _preview(trigger: Trigger, task_id: str, *, after: datetime, count: int) -> list[datetime]:
    if isinstance(trigger, (Every, Cron)):
        return preview(trigger, task_id, after=after, count=count)
    return []


def _who(by: str | None) -> str:
    from errands.engine.actor import actor

    return by or actor()
