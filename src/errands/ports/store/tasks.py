"""The part of the store about tasks and runs: adding them, moving them forward, and reading them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Literal, Protocol

    from errands.model.ending import Ending
    from errands.model.rollup import Outcome
    from errands.model.run import Cause, Event, Run
    from errands.model.states import Skip, TaskState
    from errands.model.task import Task
    from errands.model.view import RunView, View
    from errands.ports.store import Fit, Query

    # Things with a due time, at which the loops have to act.
    Timed = Literal["runs", "schedules", "questions"]

    class TaskStore(Protocol):
        def add_task(
            self, task: Task, *, not_before: datetime | None = None, held_by: str | None = None
        ) -> Run | None:
            """Add a task and queue its first run; None when its id is taken.

            The run cannot start while the task is proposed, or until it is released if `held_by` is given.
            Its parent session is noted as seen.
            """

        def add_run(
            self, task_id: str, *, cause: Cause, now: datetime, not_before: datetime | None = None
        ) -> Run:
            """Queue another run of a task; refuse it if one is live, or if the task has ended."""

        def move_task(self, task_id: str, move: str, *, now: datetime) -> TaskState | None:
            """Move a task itself, and return its new state; None when its state has no such move."""

        def add_environment(self, digest: str, variables: str) -> None: ...
        def environment(self, digest: str) -> Mapping[str, str]: ...

        # From the queue to the end.
        def ready_lanes(self) -> list[str]:
            """Return the lanes with ready runs."""

        def claim(self, lane: str, *, limit: int, now: datetime, fit: Fit = ...) -> list[tuple[Task, Run]]:
            """Make the next ready runs of a lane running, by priority and then by age.

            `fit` is asked about runs whose verdict rests on more than words, and holds those it rejects.
            """

        def new_attempt(self, run_id: str, *, attempt: int, spent: float = 0.0) -> bool:
            """Begin the next attempt of a running run; `spent` are the seconds its attempts took so far.

            False when it is not running, or not in the attempt before this one.
            """

        def note_start(self, run_id: str, *, pid: int) -> None: ...
        def note_idle(self, run_id: str) -> bool:
            """Note that the silence of a running run was reported; False when it was before."""

        def request_stop(self, run_id: str, *, by: str, now: datetime) -> bool:
            """Ask for a running run's end; False when it is not running or was asked before."""

        def end(
            self, run: Run, outcome: Outcome, ending: Ending, *, summary: str | None, now: datetime
        ) -> bool:
            """Write how an attempt at a run ended, and its task's new state.

            False if the run is not running, or in another attempt since.
            """

        def cancel_pending(self, run_id: str, *, by: str, now: datetime) -> bool:
            """Cancel a pending run and its task; False if the run is not pending."""

        def reject_pending(self, run_id: str, *, why: str, now: datetime) -> bool:
            """Cancel the pending run of a proposed task and reject the task; False likewise."""

        def skip_pending(self, run_id: str, *, reason: Skip, error: str, now: datetime) -> bool:
            """Skip a pending run, which fails its task; False likewise."""

        # Waiting for a time or for another task.
        def next_due(self, what: Timed) -> datetime | None:
            """Return when the first delayed run starts, schedule fires or question expires."""

        def not_before(self, run_id: str) -> datetime | None:
            """Return the time that a pending run is delayed to."""

        def release_due(self, *, now: datetime) -> list[str]:
            """Queue delayed runs whose time has come; return the ids of their tasks."""

        def rewind_retries(self, *, now: datetime) -> None:
            """Let delayed retries that were queued by a clock ahead of this one count as queued now."""

        def start_now(self, run_id: str) -> bool:
            """Queue a delayed run before its time; False if it is not delayed."""

        def add_waits(self, run_id: str, on: Sequence[str]) -> None:
            """Make a pending run wait for tasks that have not completed yet."""

        def has_waits(self) -> bool:
            """Return whether any run waits for a task."""

        def dependents(self, task_id: str) -> list[str]:
            """Return the ids of the pending runs that wait for a task."""

        def release_dependents(self, task_id: str) -> None:
            """Release the pending runs that wait for a task, because it has completed."""

        def mark_retrieved(self, run_id: str, *, now: datetime) -> None:
            """Note that the result of an ended run was fetched; the first time counts."""

        def add_event(
            self, task_id: str, name: str, *, run: int | None, now: datetime, detail: str = ""
        ) -> None: ...

        # Reading.
        def task(self, task_id: str) -> Task: ...
        def run(self, run_id: str) -> Run: ...
        def running(self, tasks: Sequence[str] | None = None) -> tuple[list[tuple[Task, Run]], list[str]]:
            """Return the running runs, all or those of these tasks, and the ids of the damaged ones."""

        def stopping(self) -> list[Run]:
            """Return the running runs that were asked to stop."""

        def resolve(self, prefix: str) -> str:
            """Complete a unique prefix of a task's id, or an id that was shortened in the middle."""

        def id_by_key(self, key: str) -> str | None: ...
        def view(self, task_id: str) -> View: ...
        def views(self, query: Query) -> list[View]: ...
        def history(
            self,
            task_id: str,
            *,
            limit: int = -1,
            cause: Cause | None = None,
            live_since: datetime | None = None,
        ) -> tuple[RunView, ...]:
            """Return the runs of a task, or the `limit` latest, oldest first.

            `cause` chooses by cause; `live_since` those that started and had not ended by a time.
            """

        def events(self, task_id: str) -> list[Event]: ...
        def counts(self) -> dict[str, int]: ...
        def next_pending(
            self, *, limit: int, batch: str | None = None, lane: str | None = None
        ) -> tuple[list[str], int]:
            """Return the pending tasks that start next, in that order, and how many there are in all.

            Recurring tasks and the commands of agents are not among them.
            """

        def start_order(self, task_ids: Sequence[str]) -> list[str]:
            """Return the pending ones among these tasks, in the order they would start."""

        def lane_load(self) -> dict[str, tuple[int, int]]:
            """Return how many slots of each lane are used, and how many runs wait; idle lanes are absent."""

        def live_batches(self) -> dict[str, tuple[int, int]]:
            """Return how many tasks have ended, of how many, of each batch with a live one; newest first.

            Batches that messages of a conversation make by themselves are left out.
            """

        def ended(self, task_id: str) -> bool:
            """Return whether a task has no live run, as cheaply as possible: waiters ask again and again."""

        def liveness(self, task_ids: Sequence[str]) -> dict[str, bool]:
            """Return which of many tasks have a live run; unknown ids are left out."""

        def damaged(self) -> list[str]:
            """Return the ids of the tasks whose records cannot be read; lists leave them out."""

        # Templates: saved drafts by name.
        def save_template(self, name: str, draft: str, *, now: datetime) -> None: ...
        def template(self, name: str) -> str: ...
        def templates(self) -> dict[str, str]: ...
        def remove_template(self, name: str) -> None: ...
