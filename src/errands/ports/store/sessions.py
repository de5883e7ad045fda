"""The part of the store about agents: their sessions, and what each run was asked and answered."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Protocol

    from errands.model.agent.session import Exchange, OrphanSession, Session, Waiting

    class SessionStore(Protocol):
        def add_session(self, session: Session) -> None:
            """Add a session, or change its name to the one that its backend gave it."""

        def session(self, task_id: str | None = None, *, name: str | None = None) -> Session | None:
            """Return the session that a task's next prompt would go to, or the latest one with a name."""

        def sessions(self, *, limit: int) -> list[Session]:
            """List the sessions of all tasks, newest first."""

        def mark_session_gone(self, session: Session, *, now: datetime) -> None:
            """Note that a session is gone at its backend, and remove its messages."""

        def messages(self, session: Session) -> list[str]: ...
        def add_messages(
            self, session: Session, bodies: Sequence[str], *, run: int, now: datetime
        ) -> None: ...

        # What one run was asked and answered.
        def add_exchange(self, run_id: str, text: str, *, is_awaited: bool = False) -> None:
            """Write what a run is asked, unless that is known."""

        def exchange(self, run_id: str) -> Exchange | None: ...
        def exchanges(self, task_id: str) -> list[tuple[int, Exchange]]:
            """Return what a task was asked and answered, with the numbers of the runs, oldest first."""

        def last_answer(self, task_id: str) -> str | None:
            """Return the answer of the latest run that completed."""

        def note_answer(
            self, run_id: str, answer: str | None, *, failure: str | None = None, error: str | None = None
        ) -> None:
            """Keep what an agent answered, or why it could not, for the end of its run."""

        def note_activity(
            self, run_id: str, *, usage: Mapping[str, int], tools: Sequence[str], now: datetime
        ) -> None:
            """Add to what a run has used, and replace the names of the tools it used last."""

        def set_waiting(self, run_id: str, waiting: Waiting | None) -> None:
            """Set what an agent's run waits for; meanwhile it does not use a slot of its lane."""

        def waiting_runs(self) -> dict[str, Waiting]:
            """Return the running runs that wait, and what each waits for."""

        def is_awaited(self, run_id: str) -> bool:
            """Return whether a caller blocks until a run ends."""

        def set_awaited(self, run_id: str, text: str | None) -> None:
            """Note that a caller blocks until a run ends, with what it is asked unless that is known.

            None when no caller does.
            """

        # Parents of tasks, and sessions without one.
        def live_children(self, session: str) -> list[str]:
            """Return the ids of the live runs of the tasks that belong to a session."""

        def see_session(self, name: str, *, now: datetime, reopens: bool = True) -> None:
            """Note that the frontend of a parent session is there, so that what it started is kept.

            An ended one is opened again, unless `reopens` is false.
            """

        def end_session(self, name: str, *, now: datetime) -> None:
            """Note that a parent session ended, so that its tasks are kept no longer than others."""

        def orphan_sessions(self, *, now: datetime) -> list[OrphanSession]:
            """Return the sessions of removed tasks that are to be dropped at their backends by now."""

        def retry_orphan(self, orphan: OrphanSession, *, at: datetime | None) -> None:
            """Try to drop a session again later; None when it was dropped."""
