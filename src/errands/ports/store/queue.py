"""The part of the store about the queue: what is held or paused, the order of a lane, and its width."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Protocol

    from errands.model.limits import LaneWidth
    from errands.model.states import RunState
    from errands.model.task import Task

    class QueueStore(Protocol):
        def pause_run(self, run_id: str, *, state: RunState, by: str, now: datetime) -> bool:
            """Pause a run that is in this state: a pending one is held, a running one suspended.

            False if it is in another state, paused already, or asked to stop.
            """

        def unpause_run(self, run_id: str, *, state: RunState, now: datetime) -> bool:
            """Release a held run, or let a paused one continue; False if it is not paused in this state."""

        def paused_runs(self) -> list[str]:
            """Return the ids of the running runs that are to be suspended."""

        def lane_order(self, lane: str) -> list[str]:
            """Return the ids of a lane's pending runs, in the order they would start."""

        def lane_place(self, run_id: str) -> tuple[int, int] | None:
            """Return the place of a pending run in its lane, from 1, and how many are pending there."""

        def move_run(self, run_id: str, *, before: str | None) -> bool:
            """Put a pending run before another one of its lane, or last; it takes the other's priority.

            False if one of them is not pending in that lane.
            """

        def replace_task(
            self, task: Task, *, run: int, since: datetime, not_before: datetime | None, now: datetime
        ) -> bool:
            """Write what an edited task is now; its questions and answers are void.

            False unless its run of this number is pending and it has not changed since.
            """

        def replace_recurring(self, task: Task, *, since: datetime, now: datetime) -> bool:
            """Write what an edited recurring task is now; its open question is void.

            False if a run of it is running, it has ended, or it has changed since.
            """

        def lane_widths(self) -> list[LaneWidth]:
            """Return the lanes whose width a person has set."""

        def set_lane(self, name: str, width: int, *, by: str, now: datetime) -> None: ...
        def unset_lane(self, name: str) -> bool:
            """Use the configured width again; False if none was set."""
