"""The part of the store about recurring tasks: schedule cursors, slots, watches and signals."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Protocol

    from errands.model.schedule.cursor import ScheduleCursor
    from errands.model.schedule.slot_record import Slot, SlotOutcome
    from errands.model.schedule.watch import Signal, Watch
    from errands.model.task import Task

    class ScheduleStore(Protocol):
        def add_recurring(self, task: Task, cursor: ScheduleCursor) -> bool:
            """Add a recurring task, which has no run yet; False when its id is taken."""

        def count_recurring(self, states: Sequence[str]) -> int: ...
        def cursor(self, task_id: str) -> ScheduleCursor | None: ...
        def due_schedules(self, *, now: datetime, limit: int) -> list[tuple[Task, ScheduleCursor, bool]]:
            """Return the recurring tasks whose next fire has come, and whether each has a live run."""

        def schedules_ahead(self, now: datetime) -> list[tuple[Task, ScheduleCursor]]:
            """Return those whose cursor is in the future, because the clock was set back."""

        def advance(
            self, task_id: str, *, since: datetime, until: datetime, next_at: datetime | None, runs: int = 0
        ) -> bool:
            """Move a cursor from `since` to `until`; False when it is no longer at `since`."""

        def set_trigger(self, task: Task) -> None:
            """Replace the trigger of a recurring task."""

        def set_next_fire(self, task_id: str, next_at: datetime | None) -> None:
            """Set when a trigger fires next; None while it is paused."""

        def note_result(self, task_id: str, *, failures: int, result: str | None) -> None:
            """Note how often a task failed in a row, and the digest of its last result."""

        def add_slots(self, task_id: str, slots: Sequence[Slot]) -> None:
            """Record what became of slots; one that was waiting for its turn gets its outcome."""

        def slots(self, task_id: str, *, limit: int = -1, after: datetime | None = None) -> list[Slot]:
            """Return the records of slots, newest first; with `after` those that reach beyond a time."""

        def waiting_slots(self, task_id: str) -> list[datetime]:
            """Return the slots that wait for their turn, oldest first."""

        def close_slots(
            self, task_id: str, outcome: SlotOutcome, reason: str, *, run: int | None = None
        ) -> None:
            """Set the outcome of slots that wait for their turn, or of those of a run that never started."""

        def trim_slot(self, task_id: str, slot: Slot, kept: Slot | None) -> None:
            """Shorten a record to the part that is kept, or remove it: the rest is in the future again."""

        # Events: what a source looked like, and the signals it sent.
        def save_watch(self, watch: Watch, *, has_new_baseline: bool = True) -> None:
            """Add or replace a watch; without a new baseline the old one is left as it is."""

        def watch(self, task_id: str) -> Watch | None: ...
        def watches(self) -> list[Watch]:
            """List the watches of active tasks."""

        def watched_tasks(self) -> list[str]:
            """Return the ids of the active tasks that wait for events, as cheaply as the loops can ask."""

        def add_signal(
            self, task_id: str, body: str, *, now: datetime, key: str | None = None, run: int | None = None
        ) -> datetime | None:
            """Keep a signal for the next run, and return its time, which is unique within the task.

            None when one with this key came before. Run 0 is for a signal that starts no run.
            """

        def signals(self, task_id: str, *, run: int | None = None) -> list[Signal]:
            """Return the signals of a run, or those that wait for one, oldest first."""

        def waiting_signals(self, task_id: str) -> tuple[int, datetime | None, datetime | None]:
            """Return how many signals wait for a run, and the times of the first and the last."""

        def last_signal(self, task_id: str) -> Signal | None:
            """Return the latest signal, except those that the task caused itself."""

        def assign_signals(self, task_id: str, *, run: int) -> int:
            """Assign all waiting signals to a run; return how many."""
