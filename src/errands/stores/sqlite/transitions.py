"""Transitions: every change of a run's state.

Each is a compare-and-set: it names the state it expects and says whether it happened. That a run was queued,
started, stopped and ended is read off its row (`events`), so a transition needs no event of its own.
"""

from __future__ import annotations

from errands.model.errors import StoreUnreadable
from errands.model.record import evolve
from errands.model.run import task_of
from errands.model.states import TASK_MOVES, task_after
from errands.model.text.json_text import utf8
from errands.ports.store import any_run
from errands.stores.sqlite.columns import (
    RUN,
    TASK,
    maybe_micros,
    maybe_moment,
    micros,
    moment,
    run_from,
    task_from,
)
from errands.stores.sqlite.table import Table, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from errands.model.ending import Ending
    from errands.model.rollup import Outcome
    from errands.model.run import Run
    from errands.model.states import Skip, TaskState
    from errands.model.task import Task
    from errands.ports.store import Fit
    from errands.ports.store.tasks import Timed

# The states a task may be in when the end of a run leads it to another one; it may also stay as it is.
_END_MOVES = ("finish", "give up", "pause", "cancel")


def _may_become(state: str, after: str) -> bool:
    return after == state or after in [TASK_MOVES[state].get(move) for move in _END_MOVES]


_BEFORE = {
    after: ", ".join([f"'{state}'" for state in TASK_MOVES if _may_become(state, after)])
    for after in TASK_MOVES
}

_FIRST_DUE = {
    "runs": """
        SELECT not_before FROM runs WHERE state = 'pending' AND not_before IS NOT NULL
        ORDER BY not_before LIMIT 1
    """,
    "schedules": "SELECT next_at FROM hearings WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1",
    "questions": "SELECT expires_at FROM approvals WHERE state = 'waiting' ORDER BY expires_at LIMIT 1",
}


class TransitionRows(Table):
    def ready_lanes(self) -> list[str]:
        # One step of the index per lane, however many runs are ready in each.
        ready = "state = 'pending' AND waits = 0 AND held = 0 AND not_before IS NULL AND paused_at IS NULL"
        return self.first_column(
            f"""
            WITH RECURSIVE ready (lane) AS (
                SELECT min(lane) FROM runs WHERE {ready}
                UNION ALL
                SELECT (SELECT min(lane) FROM runs WHERE {ready} AND runs.lane > ready.lane)
                FROM ready WHERE ready.lane IS NOT NULL
            )
            SELECT lane FROM ready WHERE lane IS NOT NULL
            """
        )

    def claim(self, lane: str, *, limit: int, now: datetime, fit: Fit = any_run) -> list[tuple[Task, Run]]:
        claimed: list[tuple[Task, Run]] = []
        while len(claimed) < limit:
            wanted = limit - len(claimed)
            rows = self.db.read(
                f"""
                SELECT runs.seq, tasks.seq, {TASK.columns}, {RUN.columns}
                FROM runs JOIN tasks ON tasks.seq = runs.task
                WHERE runs.lane = ? AND runs.state = 'pending' AND runs.waits = 0 AND runs.held = 0
                  AND runs.not_before IS NULL AND runs.paused_at IS NULL
                ORDER BY runs.priority, coalesce(runs.place, runs.seq) LIMIT ?
                """,
                (lane, wanted),
            )
            for seq, task_seq, *columns in rows:
                found = self._claimed(seq, task_seq, tuple(columns), now, fit)
                if found is not None:
                    claimed.append(found)
            if len(rows) < wanted:
                break  # no more are ready
        return claimed

    def _claimed(
        self, seq: int, task_seq: int, columns: tuple[Any, ...], now: datetime, fit: Fit
    ) -> tuple[Task, Run] | None:
        """Make a ready run running; None if it is damaged or no longer what was approved."""
        at = micros(now)
        try:
            task = task_from(columns[: TASK.width])
            ready = run_from(task.id, columns[TASK.width :])
            run = evolve(ready, state="running", attempt=ready.attempt + 1, started_at=now)
            # A verdict that rests on words alone cannot have changed.
            if (task.verdict != "auto" or task.evidence is not None) and not fit(task, run):
                return None
        except StoreUnreadable as error:
            # One damaged record must not keep the others from running.
            self._give_up(seq, task_seq, str(error), at)
            return None
        self.db.write(
            """
            UPDATE runs SET state = 'running', attempt = attempt + 1, started_at = ?
            WHERE seq = ? AND state = 'pending'
            """,
            (at, seq),
        )
        return task, run

    def new_attempt(self, run_id: str, *, attempt: int, spent: float = 0.0) -> bool:
        return self.changed(
            """
            UPDATE runs SET attempt = ?, elapsed = nullif(?, 0.0)
            WHERE seq = ? AND state = 'running' AND attempt = ?
            """,
            (attempt, spent, self.run_seq(run_id), attempt - 1),
        )

    def note_start(self, run_id: str, *, pid: int) -> None:
        self.db.write(
            "UPDATE runs SET pid = ? WHERE seq = ? AND state = 'running'", (pid, self.run_seq(run_id))
        )

    def request_stop(self, run_id: str, *, by: str, now: datetime) -> bool:
        return self.changed(
            """
            UPDATE runs SET stop_requested_at = ?, stop_by = ?
            WHERE seq = ? AND state = 'running' AND stop_requested_at IS NULL
            """,
            (micros(now), by, self.run_seq(run_id)),
        )

    def end(self, run: Run, outcome: Outcome, ending: Ending, *, summary: str | None, now: datetime) -> bool:
        at = micros(now)
        changed = self.db.write(
            """
            UPDATE runs
            SET state = ?, completed_at = ?, started_at = coalesce(?, started_at), pid = coalesce(?, pid),
                exit_code = ?, elapsed = ?, cpu = ?, rss = ?, bytes = ?, lines = ?, truncated = ?,
                leftovers = ?, signal = ?, failure = ?, error = ?, hooks = ?, output_failed = ?, summary = ?,
                paused_for = paused_for + coalesce(max(0, ? - paused_at) / 1e6, 0), paused_at = NULL
            WHERE task = (SELECT seq FROM tasks WHERE id = ?) AND number = ?
              AND state = 'running' AND attempt = ?
            """,
            (
                outcome.run_state, maybe_micros(ending.ended_at) or at, maybe_micros(ending.started_at),
                ending.pid, ending.code, ending.elapsed, ending.cpu, ending.rss, ending.bytes, ending.lines,
                int(ending.truncated), ending.leftovers, ending.signal, outcome.failure, outcome.error,
                ",".join(ending.hooks) or None, ending.disk, summary, at, run.task_id, run.number,
                run.attempt,
            ),
        ).rowcount  # fmt: skip
        if changed:
            before = _BEFORE[outcome.task_state]
            self.db.write(
                f"UPDATE tasks SET state = ?, updated_at = ? WHERE id = ? AND state IN ({before})",
                (outcome.task_state, at, run.task_id),
            )
        return bool(changed)

    def reject_pending(self, run_id: str, *, why: str, now: datetime) -> bool:
        return self._end_pending(run_id, "cancelled", "rejected", None, why, now)

    def cancel_pending(self, run_id: str, *, by: str, now: datetime) -> bool:
        return self._end_pending(
            run_id, "cancelled", "cancelled", None, f"cancelled by {by} before it started", now
        )

    def skip_pending(self, run_id: str, *, reason: Skip, error: str, now: datetime) -> bool:
        return self._end_pending(run_id, "skipped", "failed", reason, error, now)

    def next_due(self, what: Timed) -> datetime | None:
        rows = self.db.read(_FIRST_DUE[what])
        return moment(rows[0][0]) if rows else None

    def not_before(self, run_id: str) -> datetime | None:
        rows = self.db.read("SELECT not_before FROM runs WHERE seq = ?", (self.run_seq(run_id),))
        return maybe_moment(rows[0][0])

    def release_due(self, *, now: datetime) -> list[str]:
        rows = self.db.write(
            """
            UPDATE runs SET not_before = NULL WHERE state = 'pending' AND not_before <= ?
            RETURNING (SELECT id FROM tasks WHERE seq = runs.task)
            """,
            (micros(now),),
        ).fetchall()
        return [task_id for (task_id,) in rows]

    def rewind_retries(self, *, now: datetime) -> None:
        self.db.write(
            """
            UPDATE runs SET not_before = ?1 + not_before - created_at, created_at = ?1
            WHERE state = 'pending' AND not_before IS NOT NULL AND cause = 'retry' AND created_at > ?1
            """,
            (micros(now),),
        )

    def start_now(self, run_id: str) -> bool:
        return self.changed(
            """
            UPDATE runs SET not_before = NULL
            WHERE seq = ? AND state = 'pending' AND not_before IS NOT NULL
            """,
            (self.run_seq(run_id),),
        )

    def move_task(self, task_id: str, move: str, *, now: datetime) -> TaskState | None:
        (state,) = self.one("SELECT state FROM tasks WHERE id = ?", task_id)
        if move not in TASK_MOVES[state]:
            return None
        after = task_after(state, move)
        self.db.write(
            "UPDATE tasks SET state = ?, updated_at = ? WHERE id = ? AND state = ?",
            (after, micros(now), task_id, state),
        )
        return after

    def has_waits(self) -> bool:
        return bool(self.db.read("SELECT 1 FROM waits LIMIT 1"))

    def dependents(self, task_id: str) -> list[str]:
        return self.first_column(
            """
            SELECT tasks.id || '.' || runs.number
            FROM waits JOIN runs ON runs.seq = waits.run JOIN tasks ON tasks.seq = runs.task
            WHERE waits.on_task = (SELECT seq FROM tasks WHERE id = ?) AND runs.state = 'pending'
            ORDER BY runs.seq
            """,
            (task_id,),
        )

    def release_dependents(self, task_id: str) -> None:
        seq = self.task_seq(task_id)
        self.db.write(
            """
            UPDATE runs SET waits = waits - 1
            WHERE state = 'pending' AND seq IN (SELECT run FROM waits WHERE on_task = ?)
            """,
            (seq,),
        )
        self.db.write("DELETE FROM waits WHERE on_task = ?", (seq,))

    def mark_retrieved(self, run_id: str, *, now: datetime) -> None:
        self.db.write(
            """
            UPDATE runs SET retrieved_at = ?
            WHERE seq = ? AND retrieved_at IS NULL AND state NOT IN ('pending', 'running')
            """,
            (micros(now), self.run_seq(run_id)),
        )

    def note_idle(self, run_id: str) -> bool:
        return self.changed(
            "UPDATE runs SET idle_told = 1 WHERE seq = ? AND state = 'running' AND idle_told = 0",
            (self.run_seq(run_id),),
        )

    def add_event(self, task_id: str, name: str, *, run: int | None, now: datetime, detail: str = "") -> None:
        seq = self.task_seq(task_id)
        self.db.write(
            "INSERT INTO events (task, run, name, at, detail) VALUES (?, ?, ?, ?, ?)",
            (seq, run, name, micros(now), utf8(detail)),
        )

    def task(self, task_id: str) -> Task:
        return task_from(self.one(f"SELECT {TASK.columns} FROM tasks WHERE id = ?", task_id))

    def run(self, run_id: str) -> Run:
        task_id, number = task_of(run_id)
        sql = f"""
            SELECT {RUN.columns} FROM tasks JOIN runs ON runs.task = tasks.seq
            WHERE tasks.id = ? AND runs.number = ?
        """
        return run_from(task_id, self.one(sql, task_id, number))

    def running(self, tasks: Sequence[str] | None = None) -> tuple[list[tuple[Task, Run]], list[str]]:
        if tasks is not None and not tasks:
            return [], []  # with INDEXED BY, SQLite has no plan for an empty list
        rows = self.db.read(
            f"""
            SELECT {TASK.columns}, {RUN.columns}
            FROM runs INDEXED BY one_live_run JOIN tasks ON tasks.seq = runs.task
            WHERE runs.state IN ('pending', 'running') AND runs.state = 'running'
              {"" if tasks is None else f"AND tasks.id IN ({marks(tasks)})"} ORDER BY runs.seq
            """,
            tasks or (),
        )
        found, damaged = [], []
        for row in rows:
            try:
                found.append((task_from(row[: TASK.width]), run_from(row[0], row[TASK.width :])))
            except StoreUnreadable:
                damaged.append(f"{row[0]}.{row[TASK.width]}")  # it must not keep the others from being found
        return found, damaged

    def stopping(self) -> list[Run]:
        rows = self.db.read(
            f"""
            SELECT tasks.id, {RUN.columns} FROM runs JOIN tasks ON tasks.seq = runs.task
            WHERE runs.state = 'running' AND runs.stop_requested_at IS NOT NULL
            """
        )
        found = []
        for row in rows:
            try:
                found.append(run_from(row[0], row[1:]))
            except StoreUnreadable:
                continue  # as in `running`: it is not watched, so it cannot be stopped
        return found

    def _end_pending(
        self, run_id: str, run_state: str, task_state: str, failure: str | None, error: str, now: datetime
    ) -> bool:
        task_id, number = task_of(run_id)
        at, error = micros(now), utf8(error)
        rows = self.db.write(
            """
            UPDATE runs SET state = ?, completed_at = ?, failure = ?, error = ?, paused_at = NULL
            WHERE task = (SELECT seq FROM tasks WHERE id = ?) AND number = ? AND state = 'pending'
            RETURNING task, seq, held
            """,
            (run_state, at, failure, error, task_id, number),
        ).fetchall()
        if not rows:
            return False
        task_seq, seq, held = rows[0]
        self.db.write("DELETE FROM waits WHERE run = ?", (seq,))
        if held:  # the question is not open any more
            self.db.write(
                "UPDATE approvals SET state = 'void', at = ?, note = ? WHERE task = ? AND state = 'waiting'",
                (at, error, task_seq),
            )
        self.db.write(
            "UPDATE tasks SET state = ?, updated_at = ? WHERE seq = ? AND state IN ('active', 'proposed')",
            (task_state, at, task_seq),
        )
        return True

    def _give_up(self, seq: int, task_seq: int, error: str, at: int) -> None:
        self.db.write(
            """
            UPDATE runs SET state = 'failed', started_at = ?, completed_at = ?, failure = 'spawn', error = ?
            WHERE seq = ? AND state = 'pending'
            """,
            (at, at, error, seq),
        )
        self.db.write(
            "UPDATE tasks SET state = 'failed', updated_at = ? WHERE seq = ? AND state = 'active'",
            (at, task_seq),
        )
