"""The part of the store about the past: what is old enough to be removed, and the traces of runs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from typing import Protocol

    # The place of a run, its id, whether it has ended, and when it was made.
    Traced = tuple[int, str, bool, datetime]

    class RetentionStore(Protocol):
        def remove(self, task_ids: Sequence[str], *, now: datetime) -> list[str]:
            """Remove tasks without a live run, and the commands that their agents ran, too.

            Return the ids of all their runs. Answers about them are kept.
            """

        def remove_runs(self, run_ids: Sequence[str]) -> None:
            """Remove earlier runs of tasks, never the latest, and the sessions that began with them."""

        def expired_tasks(self, *, before: datetime, limit: int) -> list[str]:
            """Return the ids of tasks that ended before a time and that nothing needs.

            A task of a parent session is needed while that has not ended and was seen since; one that an
            agent started, while the run that did is the agent's latest.
            """

        def superseded_runs(self, *, before: datetime, limit: int) -> list[str]:
            """Return the ids of runs that ended before a time and were followed by another of their task."""

        def directories(self) -> list[str]:
            """Return the directories that the tasks of this store work in, each once."""

        def purge(self, *, before: datetime, history_before: datetime) -> None:
            """Remove what belongs to no task: old notices and refusals, and what nothing refers to.

            A notice that waits in an inbox is kept as long as its run.

            Answers about removed tasks, slots and signals are history.
            """

        # Traces. The place of a run is its number among all runs of this store.
        def launched_by(self, run_id: str) -> list[str]:
            """Return the ids of the tasks that a run has launched, oldest first."""

        def run_with_span(self, prefix: str, ids: Callable[[str, datetime], Sequence[str]]) -> str | None:
            """Return the id of the run with a span of this prefix; `ids` returns the span ids of a run."""

        def traced(self, *, after: int, among: Sequence[int], limit: int) -> list[Traced]:
            """Return up to `limit` runs after a place, and those at the places `among`, in order."""

        def last_place(self, *, by: datetime | None = None) -> int:
            """Return the place of the newest run, or of the newest that was made by a time; 0 for none."""

        def live_places(self) -> list[int]:
            """Return the places of the runs that have not ended."""
