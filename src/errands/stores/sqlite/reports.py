"""What views and metrics read: what changed, the story of a task, rows of lists, bars, slots and totals."""

from __future__ import annotations

from errands.model.codec import RowCodec
from errands.model.record import evolve
from errands.model.run import Event
from errands.model.states import ENDED
from errands.ports.store.reports import LONGEST_TEXT, Bar, EndedRun, RunTotal, TaskRow, Total
from errands.stores.sqlite.columns import TYPES, maybe_moment, micros, moment
from errands.stores.sqlite.schedules import SLOT
from errands.stores.sqlite.views import SHOWN_KIND, SHOWN_STATE, ViewRows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from errands.model.schedule.slot_record import Slot, SlotOutcome
    from errands.model.states import RunState
    from errands.ports.store import Query
    from errands.ports.store.reports import Group

_ROW = f"""
    tasks.id, {SHOWN_KIND}, {SHOWN_STATE},
    substr(iif(tasks.description IN ('', tasks.name), tasks.command, tasks.description), 1, {LONGEST_TEXT}),
    tasks.lane, coalesce(runs.number, 0), tasks.created_at, runs.started_at, runs.completed_at,
    runs.exit_code, runs.failure, substr(runs.summary, 1, {LONGEST_TEXT}),
    coalesce(hearings.next_at, runs.not_before),
    coalesce(runs.paused_at IS NOT NULL, 0), coalesce(runs.stop_requested_at IS NOT NULL, 0),
    coalesce(runs.waits, 0), exchanges.waiting, tasks.host
"""
_RUN_TOTAL = RowCodec(RunTotal, "run_totals", TYPES, columns={"runs": "n"})
_TOTAL = RowCodec(Total, "totals", TYPES, columns={"count": "n"})
# The worse of two ends is what a bar of several runs shows.
_RANKS = ("skipped", "completed", "cancelled", "pending", "running", "failed")
_NARROW = 3  # steps up to which runs on the same ones are merged into a bar early: wider ones are few
_GROUPS = {"lane": "runs.lane", "name": "tasks.name", "batch": "coalesce(tasks.batch, '')"}

_ENDED = """
    FROM runs INDEXED BY runs_ended CROSS JOIN tasks ON tasks.seq = runs.task
    WHERE runs.completed_at >= :since AND (:name IS NULL OR tasks.name = :name)
"""


class ReportRows(ViewRows):
    def data_version(self) -> tuple[int, int]:
        return int(self.db.read("PRAGMA data_version")[0][0]), self.db.own_changes

    def running_attempts(self, *, placed: bool = False) -> dict[str, int]:
        return dict(
            self.db.read(
                f"""
                SELECT tasks.id || '.' || runs.number, runs.attempt
                FROM runs INDEXED BY one_live_run JOIN tasks ON tasks.seq = runs.task
                WHERE runs.state IN ('pending', 'running') AND runs.state = 'running'
                  {"AND tasks.host <> ''" if placed else ""} ORDER BY runs.seq
                """
            )
        )

    def events(self, task_id: str) -> list[Event]:
        rows = self.db.read(
            """
            WITH story (run, name, at, detail, rank) AS (
                SELECT number, 'queued', created_at, cause, 0 FROM runs WHERE task = :task
                UNION ALL
                SELECT 1, 'variables removed', created_at, removed, 0.1 FROM tasks
                WHERE seq = :task AND removed <> ''
                UNION ALL
                SELECT run, 'proposed', asked_at, '', 0.2 FROM approvals
                WHERE task = :task AND (at IS NULL OR at <> asked_at)
                UNION ALL
                SELECT run, CASE state WHEN 'refused' THEN 'rejected' WHEN 'expired' THEN state
                                       ELSE 'approved' END,
                       at, trim('by ' || by || ' (' || door || ') ' || note), 0.2
                FROM approvals WHERE task = :task AND by IS NOT NULL  -- what was granted may be void since
                UNION ALL
                SELECT number, 'started', started_at, '', 1 FROM runs
                WHERE task = :task AND started_at IS NOT NULL
                UNION ALL
                SELECT number, 'stop requested', stop_requested_at, stop_by, 2 FROM runs
                WHERE task = :task AND stop_requested_at IS NOT NULL
                UNION ALL
                SELECT run, name, at, detail, iif(name = 'drifted', 0.2, 3) FROM events WHERE task = :task
                UNION ALL
                SELECT number, state, completed_at, coalesce(error, ''), 4 FROM runs
                WHERE task = :task AND completed_at IS NOT NULL
            )
            SELECT run, name, at, detail FROM story ORDER BY run, rank, at, name
            """,
            {"task": self.task_seq(task_id)},
        )
        return [
            Event(seq=seq, task_id=task_id, run=run, name=name, at=moment(at), detail=detail)
            for seq, (run, name, at, detail) in enumerate(rows, start=1)
        ]

    def rows(self, query: Query) -> list[TaskRow]:
        source, where, values = self.selection(query)
        sql = f"""
            SELECT {_ROW} FROM {source} LEFT JOIN exchanges ON exchanges.run = runs.seq
            LEFT JOIN hearings ON tasks.standing IS NOT NULL AND hearings.task = tasks.seq {where}
        """
        return [_row(*row) for row in self.db.read(sql, values)]

    def count_tasks(self, query: Query) -> int:
        source, where, values = self.selection(query)
        return int(self.db.read(f"SELECT count(*) FROM (SELECT 1 FROM {source} {where})", values)[0][0])

    def bars(self, *, since: datetime, until: datetime, steps: int, group: Group, tracks: int) -> list[Bar]:
        start, end, ranks = (
            micros(since),
            micros(until),
            " ".join(f"WHEN '{state}' THEN {rank}" for rank, state in enumerate(_RANKS)),
        )
        step = max(1, (end - start) // steps)
        # Ended runs by the index of their ends, live ones by theirs; what never started has no bar.
        rows = self.db.read(
            f"""
            WITH seen AS (
                SELECT seq FROM runs INDEXED BY runs_ended WHERE completed_at >= :start
                UNION ALL
                SELECT seq FROM runs INDEXED BY one_live_run WHERE state IN ('pending', 'running')
            )
            SELECT grp, low, high, count(*), max(rank), min(began), max(coalesce(ended, :end)), max(id)
            FROM (
                SELECT {_GROUPS[group]} AS grp, tasks.id AS id, runs.seq AS seq, runs.started_at AS began,
                       runs.completed_at AS ended, CASE runs.state {ranks} END AS rank,
                       min((max(runs.started_at, :start) - :start) / :step, :last) AS low,
                       min((coalesce(runs.completed_at, :end) - :start) / :step, :last) AS high
                FROM seen CROSS JOIN runs ON runs.seq = seen.seq CROSS JOIN tasks ON tasks.seq = runs.task
                WHERE runs.started_at < :end
            ) GROUP BY grp, low, high, iif(high - low > :narrow, seq, 0) ORDER BY grp, low, high, seq
            """,
            {"start": start, "end": end, "step": step, "last": steps - 1, "narrow": _NARROW},
        )
        return _on_tracks([Bar(
            group=grp, first=low, last=high, runs=count, state=_RANKS[rank], started_at=moment(began),
            ended_at=moment(ended), task_id=task_id,
        ) for grp, low, high, count, rank, began, ended, task_id in rows], tracks)  # fmt: skip

    def ended_runs(self, *, since: datetime, name: str | None, limit: int) -> list[EndedRun]:
        rows = self.db.read(
            """
            SELECT tasks.id, runs.number, runs.state, runs.completed_at, runs.started_at,
                   coalesce(exchanges.input_tokens + exchanges.output_tokens, 0),
                   coalesce(exchanges.cost_microdollars, 0)
            FROM runs INDEXED BY runs_ended CROSS JOIN tasks ON tasks.seq = runs.task
            LEFT JOIN exchanges ON exchanges.run = runs.seq
            WHERE runs.completed_at >= :since AND (:name IS NULL OR tasks.name = :name)
            ORDER BY runs.completed_at DESC, runs.seq DESC LIMIT :limit
            """,
            {"since": micros(since), "name": name, "limit": limit},
        )
        return [
            EndedRun(
                task_id=task_id,
                run=number,
                state=state,
                at=moment(ended),
                seconds=None if started is None else (ended - started) / 1e6,
                tokens=tokens,
                microdollars=cost,
            )
            for task_id, number, state, ended, started, tokens, cost in reversed(rows)
        ]

    def ends_by_day(self, *, since: datetime, name: str | None) -> list[tuple[str, RunState, int]]:
        rows = self.db.read(
            f"""
            SELECT date(runs.completed_at / 1000000, 'unixepoch') AS day, runs.state, count(*)
            {_ENDED} GROUP BY day, runs.state ORDER BY day, runs.state
            """,
            {"since": micros(since), "name": name},
        )
        return [(day, state, count) for day, state, count in rows]

    def busiest_names(self, *, since: datetime, limit: int) -> list[tuple[str, int]]:
        rows = self.db.read(
            f"SELECT tasks.name, count(*) AS runs {_ENDED} GROUP BY tasks.name "
            "ORDER BY count(*) DESC, tasks.name LIMIT :limit",
            {"since": micros(since), "name": None, "limit": limit},
        )
        return [(name, count) for name, count in rows]

    def recent_slots(self, *, limit: int) -> dict[str, list[Slot]]:
        rows = self.db.read(
            f"""
            SELECT slots.id, {SLOT.columns} FROM (
                SELECT tasks.id, slots.*,
                       row_number() OVER (PARTITION BY slots.task ORDER BY slot DESC) AS place
                FROM tasks INDEXED BY tasks_standing JOIN slots ON slots.task = tasks.seq
                WHERE tasks.standing IS NOT NULL AND tasks.state IN ('proposed', 'active', 'paused')
            ) AS slots WHERE place <= ? ORDER BY slots.id, slot DESC
            """,
            (limit,),
        )
        found: dict[str, list[Slot]] = {}
        for task_id, *row in rows:
            found.setdefault(task_id, []).append(SLOT.read(row))
        return found

    def slot_outcomes(
        self, task_id: str, *, since: datetime, until: datetime
    ) -> list[tuple[SlotOutcome, RunState | None, int]]:
        rows = self.db.read(
            """
            SELECT slots.outcome, runs.state, sum(slots.count) FROM slots
            LEFT JOIN runs ON runs.task = slots.task AND runs.number = slots.run
            WHERE slots.task = ? AND slots.slot >= ? AND slots.slot < ? GROUP BY 1, 2 ORDER BY 1, 2
            """,
            (self.task_seq(task_id), micros(since), micros(until)),
        )
        return [(outcome, state, count) for outcome, state, count in rows]

    def run_totals(self) -> list[RunTotal]:
        rows = self.db.read(f"SELECT {_RUN_TOTAL.columns} FROM run_totals")
        return [_RUN_TOTAL.read(row) for row in rows]

    def totals(self) -> list[Total]:
        return [_TOTAL.read(row) for row in self.db.read(f"SELECT {_TOTAL.columns} FROM totals")]

    def open_questions(self) -> int:
        return int(
            self.db.read(
                "SELECT count(*) FROM approvals INDEXED BY approvals_waiting WHERE state = 'waiting'"
            )[0][0]
        )

    def waiting_notices(self) -> dict[str, int]:
        return dict(
            self.db.read(
                """
                SELECT channel, count(*) FROM outbox INDEXED BY outbox_queues
                WHERE state = 'waiting' AND channel <> 'inbox' GROUP BY channel
                """
            )
        )

    def oldest_ready(self) -> datetime | None:
        rows = self.db.read(
            """
            SELECT min(created_at) FROM runs INDEXED BY runs_ready
            WHERE state = 'pending' AND waits = 0 AND held = 0 AND not_before IS NULL AND paused_at IS NULL
            """
        )
        return maybe_moment(rows[0][0])


def _row(
    task_id: str, kind: str, state: str, title: str, lane: str, run: int, created_at: int,
    started_at: int | None, ended_at: int | None, exit_code: int | None, failure: str | None,
    summary: str | None, next_at: int | None, is_paused: int, is_stopping: int, waits: int,
    waiting: str | None, host: str,
) -> TaskRow:  # fmt: skip
    is_over = state in ENDED
    return TaskRow(
        id=task_id, kind=kind, state=state, title=title, lane=lane, run=run, created_at=moment(created_at),
        started_at=maybe_moment(started_at), ended_at=maybe_moment(ended_at), exit_code=exit_code,
        failure=failure, summary=summary or "", next_at=None if is_over else maybe_moment(next_at),
        is_paused=bool(is_paused), is_stopping=bool(is_stopping) and not is_over, waits=waits,
        waiting=None if is_over else waiting, host=host,
    )  # fmt: skip


def _on_tracks(bars: Sequence[Bar], tracks: int) -> list[Bar]:
    """Put the bars of each group on its first free track; without one, join them to those of the last."""
    found: list[Bar] = []
    group, latest = None, list[int]()  # where the latest bar of each track is
    for bar in bars:
        if bar.group != group:
            group, latest = bar.group, []
        track = next((at for at, place in enumerate(latest) if found[place].last < bar.first), len(latest))
        if track < tracks:
            latest[track : track + 1] = [len(found)]
            found.append(evolve(bar, track=track))
        else:
            found[latest[-1]] = _joined(found[latest[-1]], bar)
    return found


def _joined(one: Bar, other: Bar) -> Bar:
    worse = max(one.state, other.state, key=_RANKS.index)
    return evolve(
        one,
        last=max(one.last, other.last),
        runs=one.runs + other.runs,
        state=worse,
        ended_at=max(one.ended_at, other.ended_at),
        started_at=min(one.started_at, other.started_at),
        task_id=other.task_id if other.state == worse else one.task_id,
    )
