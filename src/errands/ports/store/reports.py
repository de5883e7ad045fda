"""The part of the store that views and metrics read: what changed, rows of lists, bars, slots and totals."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal, Protocol

    from errands.model.schedule.slot_record import Slot, SlotOutcome
    from errands.model.states import RunState
    from errands.ports.store import Query

    # What the rows of a timeline stand for.
    Group = Literal["lane", "name", "batch"]

GROUPS: tuple[Group, ...] = ("lane", "name", "batch")
LONGEST_TEXT = 256  # characters of a row's texts


@record
class TaskRow:
    """A task in a long list: what is needed to draw a line, to sort and to filter, and nothing else."""

    id: str
    kind: str
    state: str
    title: str  # the beginning of its description or command
    lane: str
    run: int  # the number of its latest run, 0 before the first
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    failure: str | None = None
    summary: str = ""
    next_at: datetime | None = None  # when it starts, if that is known
    is_paused: bool = False  # or held, if it is pending
    is_stopping: bool = False
    waits: int = 0  # for how many tasks
    waiting: str | None = None  # what a running agent waits for
    host: str = ""  # the host or label that it was started for; empty: it runs here


@record
class Bar:
    """One bar of a timeline: a run, or several of a group that are drawn as one, by step and by time.

    `state` is the worst of theirs, and `task_id` one of those tasks. Bars that overlap have different tracks.
    """

    group: str
    first: int
    last: int
    runs: int
    state: str
    started_at: datetime
    ended_at: datetime
    task_id: str
    track: int = 0


@record
class EndedRun:
    """How a run ended, how long it took, and what an agent used; `seconds` is None if it never started."""

    task_id: str
    run: int
    state: RunState
    at: datetime
    seconds: float | None
    tokens: int
    microdollars: int


@record
class RunTotal:
    """How many runs with these labels have ended since the store was made, and how long they took.

    `le` is the upper bound of their bucket in seconds, infinite for the last one, and 0 for runs that never
    started.
    """

    kind: str
    lane: str
    state: str
    failure: str
    le: float
    runs: int
    seconds: float


@record
class Total:
    """Another number that only grows: answers by `state`, notices by channel (`kind`) and `state`, usage."""

    name: str
    kind: str
    state: str
    count: int


if TYPE_CHECKING:

    class ReportStore(Protocol):
        def data_version(self) -> tuple[int, int]:
            """Return numbers that differ as soon as this or another process has changed anything."""

        def running_attempts(self, *, placed: bool = False) -> dict[str, int]:
            """Return the running runs by id, oldest first, as cheaply as one can ask many times a second.

            With `placed` only those that other hosts carry out.
            """

        def rows(self, query: Query) -> list[TaskRow]:
            """List tasks as light rows, newest first."""

        def count_tasks(self, query: Query) -> int:
            """Count the tasks of a query, up to its limit."""

        def bars(
            self, *, since: datetime, until: datetime, steps: int, group: Group, tracks: int
        ) -> list[Bar]:
            """Return what ran in a window, in bars that do not overlap on any track of a group.

            A group has at most so many tracks; the last one has the rest, joined where it overlaps.
            """

        def recent_slots(self, *, limit: int) -> dict[str, list[Slot]]:
            """Return the latest records of slots of every recurring task that has not ended, newest first."""

        def slot_outcomes(
            self, task_id: str, *, since: datetime, until: datetime
        ) -> list[tuple[SlotOutcome, RunState | None, int]]:
            """Count the slots from a time to another one by what became of them, and of their run."""

        def ended_runs(self, *, since: datetime, name: str | None, limit: int) -> list[EndedRun]:
            """Return the latest runs that ended since a time, oldest first: all, or of tasks of a name."""

        def ends_by_day(self, *, since: datetime, name: str | None) -> list[tuple[str, RunState, int]]:
            """Count the runs that ended since a time, by the day in UTC and by their state."""

        def busiest_names(self, *, since: datetime, limit: int) -> list[tuple[str, int]]:
            """Return the names of tasks with the most runs that ended since a time, and how many."""

        # Numbers that never fall, whatever is removed.
        def run_totals(self) -> list[RunTotal]: ...
        def totals(self) -> list[Total]: ...

        # Gauges.
        def open_questions(self) -> int:
            """Return how many tasks and calls wait for approval."""

        def waiting_notices(self) -> dict[str, int]:
            """Return how many notices wait to be sent, by channel; those that wait for their owner apart."""

        def oldest_ready(self) -> datetime | None:
            """Return when the oldest run that could start was queued."""
