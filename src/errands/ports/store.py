"""The store: the only bus. Everything any process knows about tasks, it knows from here.

Verbs that change something are called inside `with store:`, which is one short transaction; an inner one
joins the outer. Every write names the state it expects and says whether it happened.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from typing import Protocol

    from errands.model.agent.session import Exchange, OrphanSession, Session, Waiting
    from errands.model.approval import Approval, ApprovalState, AuditEntry, StandingApproval
    from errands.model.ending import Ending
    from errands.model.notices.notice import Address, Notice, NoticeState
    from errands.model.rollup import Outcome
    from errands.model.run import Cause, Event, Run
    from errands.model.states import Skip
    from errands.model.task import Task
    from errands.model.verdict import Reason
    from errands.model.view import RunView, View
    from errands.ports.schedules import ScheduleStore, WatchStore
    from errands.ports.spans import SpanStore

    # Whether what a run was approved for is still what would run.
    Fit = Callable[[Task, Run], bool]

    class Store(SpanStore, ScheduleStore, WatchStore, Protocol):
        def __enter__(self) -> Store: ...
        def __exit__(self, kind: object, error: object, trace: object) -> None: ...
        def close(self) -> None: ...

        # Tasks and runs come and go.
        def add_task(self, task: Task, *, not_before: datetime | None = None) -> Run | None:
            """Add a task and queue its first run, held if it is only proposed; None when its id is taken."""

        def add_run(
            self, task_id: str, *, cause: Cause, now: datetime, not_before: datetime | None = None
        ) -> Run:
            """Queue another run of a task; AlreadyActive if one is live."""

        def reopen(self, task_id: str, *, now: datetime) -> None:
            """Make an ended task active again."""

        def remove(self, task_ids: Sequence[str], *, now: datetime) -> list[str]:
            """Remove tasks that have no live run; give the ids of their runs. Answers about them are kept."""

        def remove_runs(self, run_ids: Sequence[str]) -> None:
            """Remove runs of a task's past, never its latest."""

        def add_environment(self, digest: str, variables: str) -> None: ...
        def forget_environments(self) -> None:
            """Drop the environments that no task needs any more."""

        def environment(self, digest: str) -> Mapping[str, str]: ...

        # What moves a run.
        def ready_lanes(self) -> list[str]:
            """Name the lanes in which runs are ready."""

        def claim(self, lane: str, *, limit: int, now: datetime, fit: Fit = ...) -> list[tuple[Task, Run]]:
            """Take the next ready runs of a lane, best priority and oldest first, and make them running.

            `fit` is asked about each whose verdict rests on more than its words; whoever says no holds it.
            """

        def add_waits(self, run_id: str, on: Sequence[str]) -> None:
            """Make a pending run wait for tasks that have not completed yet."""

        def new_attempt(self, run_id: str, *, attempt: int, spent: float = 0.0) -> bool:
            """Begin the next attempt of a running run; `spent` are the seconds its attempts took so far.

            False when it is not running, or not in the attempt before this one.
            """

        def note_start(self, run_id: str, *, pid: int) -> None: ...
        def request_stop(self, run_id: str, *, by: str, now: datetime) -> bool:
            """Ask for a running run's end; False when there is nothing to stop or it was asked before."""

        def end(
            self, run: Run, outcome: Outcome, ending: Ending, *, summary: str | None, now: datetime
        ) -> bool:
            """Write how an attempt at a run ended, and its task's new state.

            False if the run is not running, or in another attempt since.
            """

        def reject_pending(self, run_id: str, *, why: str, now: datetime) -> bool:
            """Cancel the pending run of a proposed task and reject the task."""

        def cancel_pending(self, run_id: str, *, by: str, now: datetime) -> bool:
            """Cancel a pending run; False when it is no longer pending."""

        def skip_pending(self, run_id: str, *, reason: Skip, error: str, now: datetime) -> bool:
            """Skip a pending run; False when it is no longer pending."""

        def not_before(self, run_id: str) -> datetime | None:
            """Return when a delayed run may start; None when it may."""

        def next_due(self) -> datetime | None:
            """Tell when the next delayed run wants to start."""

        def release_due(self, *, now: datetime) -> datetime | None:
            """Let delayed runs whose time has come into their lanes; give the time of the next."""

        def has_waits(self) -> bool:
            """Tell whether there is a run that waits for a task."""

        def dependents(self, task_id: str) -> list[str]:
            """Name the pending runs that wait for a task."""

        def release_dependents(self, task_id: str) -> None:
            """Tell the pending runs that wait for a task that it has completed."""

        def mark_retrieved(self, run_id: str, *, now: datetime) -> None: ...
        def add_event(
            self, task_id: str, name: str, *, run: int | None, now: datetime, detail: str = ""
        ) -> None: ...
        def note_idle(self, run_id: str) -> bool:
            """Note that a run's silence was reported; False when it was before."""

        # Approvals.
        def ask(
            self,
            task: Task,
            run: int,
            reasons: Sequence[Reason],
            *,
            now: datetime,
            expires_at: datetime,
            is_granted: bool = False,
        ) -> Approval:
            """Write down a question about a task, with its answer if it was given before it was asked."""

        def question(self, task_id: str) -> Approval | None:
            """Give the question about a task that waits for an answer."""

        def approvals(self, task_id: str | None = None) -> list[Approval]:
            """List the questions about one task, oldest first, or about all that there are, newest first."""

        def audit(self, task_id: str | None = None, *, limit: int | None = None) -> list[AuditEntry]:
            """List what was asked, newest first: about all tasks, or about one and what its runs started.

            What was asked about tasks that are gone is there as well, until it is forgotten.
            """

        def resolve_removed(self, prefix: str) -> str:
            """Complete a unique prefix of the id of a task that is gone, and of which the audit knows."""

        def forget_answers(self, *, before: datetime) -> None:
            """Drop what was asked about the tasks that were removed before a time."""

        def answer(
            self, approval_id: int, state: ApprovalState, *, by: str, door: str, now: datetime, note: str = ""
        ) -> bool:
            """Answer a question; False when it was answered before."""

        def recent_refusals(self, *, since: datetime) -> list[str]:
            """Give what a person said no to: name, description and command or prompt, a line each."""

        def forget_refusals(self, *, before: datetime) -> None: ...
        def grant(self, task_id: str, *, by: str, door: str, now: datetime) -> None:
            """Make a proposed task active, and let go of its run."""

        def hold(self, run: Run, *, now: datetime) -> bool:
            """Make a task proposed again and hold its run, which has not started; answers so far are void.

            False when the task has ended.
            """

        def rejudge(self, task: Task, *, now: datetime) -> bool:
            """Replace the verdict on a task, and who approved it.

            False when it is neither active nor proposed.
            """

        def next_expiry(self) -> datetime | None:
            """Tell when the next question expires."""

        def overdue(self, *, now: datetime) -> list[Approval]: ...
        def add_standing_approval(self, task: Task, *, by: str, now: datetime) -> None:
            """Remember that exactly what this task runs needs no question any more."""

        def standing_approvals(self) -> list[StandingApproval]:
            """List what was approved for all times, the latest first."""

        def remove_standing_approval(self, digest: str) -> bool:
            """Have it asked about again; False when it was not approved for all times."""

        def standing_approval(self, digest: str) -> str | None:
            """Name who approved exactly this for all times."""

        # Questions.
        def task(self, task_id: str) -> Task: ...
        def run(self, run_id: str) -> Run: ...
        def running(self) -> list[tuple[Task, Run]]: ...
        def running_ids(self) -> list[str]: ...
        def stopping(self) -> list[Run]: ...
        def resolve(self, prefix: str) -> str:
            """Complete a unique prefix of a task's id."""

        def id_by_key(self, key: str) -> str | None: ...
        def views(self, query: Query) -> list[View]: ...
        def view(self, task_id: str) -> View: ...
        def history(self, task_id: str, *, limit: int = -1) -> tuple[RunView, ...]:
            """List the runs of a task, oldest first; with `limit` only so many of the latest."""

        def damaged(self) -> list[str]:
            """Name the tasks whose records cannot be understood; lists leave them out."""

        def ended(self, task_id: str) -> bool:
            """Tell whether a task has no live run, as cheaply as a waiter can ask."""

        def liveness(self, task_ids: Sequence[str]) -> dict[str, bool]:
            """Say of many tasks at once which have a live run; what is no task's id is left out."""

        def events(self, task_id: str) -> list[Event]: ...
        def counts(self) -> dict[str, int]: ...
        def superseded_runs(self, *, before: datetime, limit: int) -> list[str]:
            """Name the runs that ended before a time and have been followed by another run of their task."""

        def expired_tasks(self, *, before: datetime, limit: int) -> list[str]: ...

        # Notices.
        def add_notice(
            self,
            run_id: str,
            event: str,
            address: Address,
            *,
            body: str,
            now: datetime,
            not_before: datetime | None = None,
        ) -> None: ...
        def queues(self) -> list[tuple[Address, datetime]]:
            """Name the addresses for which something waits to be sent, and when the first of it is due.

            The inbox is never sent: its owner takes it.
            """

        def queued(self, address: Address, *, limit: int) -> list[Notice]:
            """Give what waits to be sent to an address, oldest first."""

        def assign_delivery(self, notice_ids: Sequence[int]) -> None:
            """Make one letter of notices, named after the first; it stays that when it is sent again."""

        def mark_delivered(self, notice_ids: Sequence[int], *, now: datetime) -> None: ...
        def defer(
            self, notice_ids: Sequence[int], *, error: str, next_at: datetime, is_attempt: bool = True
        ) -> None: ...
        def give_up(self, notice_ids: Sequence[int], state: NoticeState, *, error: str) -> None:
            """Send them no more by ourselves: they are dead, or nobody knows whether they have arrived."""

        def send_again(self, notice_ids: Sequence[int] | None) -> list[int]:
            """Queue what was given up once more, with the letters it was part of; all of it if None."""

        def take_inbox(self, owner: str, *, reader: str, now: datetime, limit: int) -> list[Notice]:
            """Hand over what an owner was not told yet; each notice is handed over once."""

        def acknowledge(self, run_id: str, *, reader: str, now: datetime) -> None:
            """Note that a reader knows how a run ended without being told."""

        def unread(self, owner: str | None, *, now: datetime | None = None) -> list[Notice]:
            """List what an owner was not told yet; with `now`, only what can be handed over."""

        def inbox(self, owner: str, *, after: int) -> list[Notice]:
            """Look at what came in after a notice, whether it was handed over since or not."""

        def last_notice(self) -> int:
            """Give the number of the newest notice, whoever it is for."""

        def undelivered(self, *, given_up: bool = False) -> list[Notice]:
            """List what could not be sent yet or was given up, or only the latter."""

        def forget_notices(self, *, before: datetime) -> int:
            """Drop what was delivered, or given up although it is that old; what waits is kept."""

        # Sessions of agents.
        def add_session(self, session: Session) -> None:
            """Make a session, or learn the name that its backend gave it."""

        def session(self, task_id: str) -> Session | None:
            """Give the session that a task's next prompt would go to."""

        def session_named(self, name: str) -> Session | None: ...
        def sessions(self, *, limit: int) -> list[Session]: ...
        def mark_session_gone(self, session: Session, *, now: datetime) -> None:
            """Note that a session is no more; what it said is forgotten."""

        def messages(self, session: Session) -> list[str]: ...
        def add_messages(
            self, session: Session, bodies: Sequence[str], *, run: int, now: datetime
        ) -> None: ...
        def add_exchange(self, run_id: str, text: str, *, is_awaited: bool = False) -> None:
            """Say what a run is asked, unless that is known."""

        def exchange(self, run_id: str) -> Exchange | None: ...
        def exchanges(self, task_id: str) -> list[tuple[int, Exchange]]:
            """Give what a task was asked and answered, with the numbers of the runs, oldest first."""

        def last_answer(self, task_id: str) -> str | None:
            """Give the answer of the latest run that completed."""

        def note_answer(
            self, run_id: str, answer: str | None, *, failure: str | None = None, error: str | None = None
        ) -> None:
            """Keep what an agent answered, or why it could not, for the end of its run."""

        def note_activity(
            self, run_id: str, *, usage: Mapping[str, int], tools: Sequence[str], now: datetime
        ) -> None:
            """Add to what a run has used, and say which tools it used last."""

        def set_waiting(self, run_id: str, waiting: Waiting | None) -> None:
            """Say what an agent's run waits for; it uses no slot of its lane until it has got one again."""

        def waiting_runs(self) -> dict[str, Waiting]:
            """Tell which running runs wait, and for what."""

        def is_awaited(self, run_id: str) -> bool:
            """Tell whether somebody blocks until this run answers."""

        def awaited(self, run_id: str, text: str) -> None:
            """Note that somebody blocks until a run ends; `text` is what it is asked, unless it is known."""

        def not_awaited(self, run_id: str) -> None: ...
        def live_children(self, session: str) -> list[str]:
            """Name the live runs of the tasks that belong to a session."""

        def end_session(self, name: str, *, now: datetime) -> None:
            """Note that a parent session is over: what it started is kept no longer than other tasks."""

        def reopen_session(self, name: str) -> None:
            """Note that a parent session goes on after all."""

        def forget_ended_sessions(self) -> None:
            """Drop the ended sessions that no task belongs to any more."""

        def orphan_sessions(self, *, now: datetime) -> list[OrphanSession]:
            """Give the sessions that are to be dropped at their backends by now."""

        def try_later(self, remnant: OrphanSession, *, at: datetime) -> None: ...
        def forget_remnant(self, remnant: OrphanSession) -> None: ...

        # Templates.
        def save_template(self, name: str, draft: str, *, now: datetime) -> None: ...
        def template(self, name: str) -> str: ...
        def templates(self) -> dict[str, str]: ...
        def remove_template(self, name: str) -> None: ...


@record
class Query:
    """Which tasks to list: newest first, all that is given must hold."""

    states: tuple[str, ...] = ()
    batch: str | None = None
    owner: str | None = None
    parent: str | None = None
    ids: tuple[str, ...] | None = None
    limit: int | None = None
    before: str | None = None


def any_run(task: Task, run: Run) -> bool:
    """Take every run for fit."""
    return True
