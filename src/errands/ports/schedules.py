"""What schedules and events ask of the store."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Protocol

    from errands.model.schedule.cursor import ScheduleCursor
    from errands.model.schedule.slot_record import Slot, SlotOutcome
    from errands.model.schedule.watch import Signal, Watch
    from errands.model.states import TaskState
    from errands.model.task import Task

    class ScheduleStore(Protocol):
        """The part of the store that knows of standing tasks."""

        def add_recurring(self, task: Task, cursor: ScheduleCursor) -> bool:
            """Add a standing task, which has no run yet; False when its id is taken."""

        def cursor(self, task_id: str) -> ScheduleCursor | None: ...
        def next_hearing(self) -> datetime | None:
            """Tell when the first trigger wants to listen again."""

        def due_schedules(self, *, now: datetime, limit: int) -> list[tuple[Task, ScheduleCursor, bool]]:
            """Give the standing tasks whose triggers want to listen, and whether each has a live run."""

        def schedules_ahead(self, now: datetime) -> list[tuple[Task, ScheduleCursor]]:
            """Give those that have heard more than has happened: the clock was put back."""

        def advance(
            self, task_id: str, *, since: datetime, until: datetime, next_at: datetime | None, runs: int = 0
        ) -> bool:
            """Note how far was heard; False when somebody else has heard it meanwhile."""

        def set_next_fire(self, task_id: str, next_at: datetime | None) -> None:
            """Say when a trigger listens again; None makes it deaf."""

        def count_run(self, task_id: str) -> None: ...
        def note_result(self, task_id: str, *, failures: int, result: str | None) -> None: ...
        def move_task(self, task_id: str, move: str, *, now: datetime) -> TaskState | None:
            """Move a standing task itself; None when its state knows no such move."""

        def count_recurring(self, states: Sequence[str]) -> int: ...
        def start_now(self, run_id: str) -> bool:
            """Let a delayed run into its lane before its time; False when it waits for no time."""

        def add_slots(self, task_id: str, slots: Sequence[Slot]) -> None:
            """Write what became of slots; one that waited for its turn gets its end."""

        def slots(self, task_id: str, *, limit: int = -1, after: datetime | None = None) -> list[Slot]:
            """Give the records of slots, newest first; with `after` those that reach beyond a time."""

        def waiting_slots(self, task_id: str) -> list[datetime]: ...
        def reword_slot(self, task_id: str, run: int, outcome: SlotOutcome, reason: str) -> None:
            """Say anew what became of the slot of a run that never started."""

        def drop_waiting(self, task_id: str, reason: str) -> None:
            """Give up the slots that wait for their turn."""

        def trim_slot(self, task_id: str, slot: Slot, kept: Slot | None) -> None:
            """Take back a record of times that are still to come, or the part of it that is."""

        def forget_slots(self, *, before: datetime) -> None: ...

    class WatchStore(Protocol):
        """The part of the store that knows of events."""

        def keep_watch(self, watch: Watch) -> None: ...
        def touch_watch(self, watch: Watch) -> None:
            """Keep a watch whose baseline is still the same."""

        def watch(self, task_id: str) -> Watch | None: ...
        def watches(self) -> list[Watch]:
            """List the watches of active tasks."""

        def watched_tasks(self) -> list[str]:
            """Name the active tasks that wait for events, as cheaply as the loops can ask."""

        def add_signal(
            self, task_id: str, body: str, *, now: datetime, key: str | None = None, run: int | None = None
        ) -> datetime | None:
            """Keep a signal until a run comes of it, and give its time, which no other of the task has.

            None when one with this key was told before. One of which no run comes has the run 0.
            """

        def waiting_signals(self, task_id: str) -> tuple[int, datetime | None, datetime | None]:
            """Tell how many signals wait for a run, and the times of the first and the last."""

        def last_signal(self, task_id: str) -> Signal | None:
            """Give the last thing that was heard; what a task did itself is none."""

        def event_runs(self, task_id: str, *, limit: int) -> list[datetime]:
            """Tell when the latest runs that came of events were queued, newest first."""

        def run_times(self, task_id: str, *, since: datetime) -> list[tuple[datetime, datetime | None]]:
            """Tell when the runs that had not ended by a time began and ended, newest first."""

        def signals(self, task_id: str, *, run: int | None = None) -> list[Signal]:
            """Give the signals of a run, or those that wait for one, oldest first."""

        def assign_signals(self, task_id: str, *, run: int) -> int:
            """Give all waiting signals to a run; give their number."""

        def forget_signals(self, *, before: datetime) -> None: ...
