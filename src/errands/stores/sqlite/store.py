"""The store in one SQLite file."""

from __future__ import annotations

import sqlite3

from errands.model.errors import AlreadyActive, IllegalMove, StoreUnreadable
from errands.model.run import Run, task_of
from errands.model.states import TASK_MOVES
from errands.model.task import PRIORITIES
from errands.stores.sqlite.columns import TASK, maybe_micros, micros
from errands.stores.sqlite.notices import NoticeRows
from errands.stores.sqlite.sessions import SessionRows
from errands.stores.sqlite.spans import SpanRows
from errands.stores.sqlite.table import OPEN_TASK, Table, marks
from errands.stores.sqlite.templates import TemplateRows
from errands.stores.sqlite.transitions import TransitionRows
from errands.stores.sqlite.views import ViewRows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from errands.model.run import Cause
    from errands.model.schedule.cursor import ScheduleCursor
    from errands.model.task import Task
    from errands.stores.sqlite.approvals import ApprovalRows
    from errands.stores.sqlite.retention import RetentionRows
    from errands.stores.sqlite.schedules import ScheduleRows
    from errands.stores.sqlite.watches import WatchRows

    class LaterRows(ApprovalRows, ScheduleRows, RetentionRows, WatchRows): ...

else:
    LATER = {
        "approvals": "ApprovalRows",
        "schedules": "ScheduleRows",
        "retention": "RetentionRows",
        "watches": "WatchRows",
    }

    class LaterRows(Table):
        """What most commands never ask for, loaded when they do."""

        def __getattr__(self, name):
            for module, rows in LATER.items():
                loaded = __import__(f"errands.stores.sqlite.{module}", fromlist=[rows])
                method = getattr(getattr(loaded, rows), name, None)
                if method is not None:
                    setattr(type(self), name, method)
                    return method.__get__(self)
            raise AttributeError(name)


class SqliteStore(TransitionRows, LaterRows, ViewRows, NoticeRows, SessionRows, SpanRows, TemplateRows):
    """What comes and goes; moves, approvals, views, notices, sessions ... stand in files beside this one."""

    def __enter__(self) -> SqliteStore:
        self.db.__enter__()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.db.__exit__(kind, error, trace)

    def close(self) -> None:
        self.db.close()

    def add_task(self, task: Task, *, not_before: datetime | None = None) -> Run | None:
        seq = self._add(task, has_run=True)
        if seq is None:
            return None
        self.db.write(
            """
            INSERT INTO runs (task, number, cause, state, lane, priority, created_at, held, not_before)
            VALUES (?, 1, 'submit', 'pending', ?, ?, ?, ?, ?)
            """,
            (
                seq,
                task.lane,
                PRIORITIES.index(task.priority),
                micros(task.created_at),
                int(task.state == "proposed"),
                maybe_micros(not_before),
            ),
        )
        return Run(
            task_id=task.id, number=1, cause="submit", state="pending", attempt=0, created_at=task.created_at
        )

    def add_recurring(self, task: Task, cursor: ScheduleCursor) -> bool:
        seq = self._add(task, has_run=False)
        if seq is None:
            return False
        self.db.write(
            "INSERT INTO hearings (task, heard, next_at) VALUES (?, ?, ?)",
            (seq, micros(cursor.heard), maybe_micros(cursor.next_at)),
        )
        return True

    def _add(self, task: Task, *, has_run: bool) -> int | None:
        """Write a task, and which run will be its first; None when its id is taken."""
        values = TASK.write(task)
        # Within a transaction the number of the next run is known, so the task need not be told later.
        run = "(SELECT coalesce(max(seq), 0) + 1 FROM runs)" if has_run else "NULL"
        try:
            return self.db.write(
                f"INSERT INTO tasks ({TASK.written_columns}, run) VALUES ({marks(values)}, {run})", values
            ).lastrowid
        except sqlite3.IntegrityError as error:
            if "tasks.id" in str(error):
                return None
            raise

    def add_run(
        self, task_id: str, *, cause: Cause, now: datetime, not_before: datetime | None = None
    ) -> Run:
        at = micros(now)
        try:
            rows = self.db.write(
                f"""
                INSERT INTO runs (task, number, cause, state, lane, priority, not_before, created_at, held)
                SELECT seq, (SELECT coalesce(max(number), 0) + 1 FROM runs WHERE runs.task = tasks.seq),
                       ?, 'pending', lane, priority, ?, ?, state = 'proposed'
                FROM tasks WHERE id = ? AND state IN ({OPEN_TASK})
                RETURNING seq, task, number
                """,
                (cause, maybe_micros(not_before), at, task_id),
            ).fetchall()
        except sqlite3.IntegrityError:
            raise AlreadyActive(f"task {task_id} has a live run already; wait for it or cancel it") from None
        if not rows:
            (state,) = self.one("SELECT state FROM tasks WHERE id = ?", task_id)
            raise IllegalMove(f"task {task_id} is {state}, so it gets no more runs; reopen it first")
        run_seq, seq, number = rows[0]
        self.db.write(
            f"UPDATE tasks SET run = ?, updated_at = ? WHERE seq = ? AND state IN ({OPEN_TASK})",
            (run_seq, at, seq),
        )
        return Run(task_id=task_id, number=number, cause=cause, state="pending", attempt=0, created_at=now)

    def add_waits(self, run_id: str, on: Sequence[str]) -> None:
        """Make a pending run wait for tasks that have not completed yet."""
        seq = self.run_seq(run_id)
        for task_id in on:
            self.db.write(
                "INSERT OR IGNORE INTO waits (run, on_task) SELECT ?, seq FROM tasks WHERE id = ?",
                (seq, task_id),
            )
        self.db.write(
            """
            UPDATE runs SET waits = (SELECT count(*) FROM waits WHERE run = runs.seq)
            WHERE seq = ? AND state = 'pending'
            """,
            (seq,),
        )

    def reopen(self, task_id: str, *, now: datetime) -> None:
        allowed = [state for state, moves in TASK_MOVES.items() if "reopen" in moves]
        changed = self.db.write(
            f"UPDATE tasks SET state = 'active', updated_at = ? WHERE id = ? AND state IN ({marks(allowed)})",
            (micros(now), task_id, *allowed),
        ).rowcount
        if not changed:
            state = self.one("SELECT state FROM tasks WHERE id = ?", task_id)[0]
            raise IllegalMove(f"task {task_id} is {state}, so it cannot be started again; submit it anew")

    def remove(self, task_ids: Sequence[str], *, now: datetime) -> list[str]:
        removed: list[str] = []
        for task_id in task_ids:
            rows = self.db.read(
                """
                SELECT tasks.seq, runs.number, runs.state IN ('pending', 'running'),
                       EXISTS (SELECT 1 FROM approvals WHERE approvals.task = tasks.seq)
                FROM tasks LEFT JOIN runs ON runs.task = tasks.seq WHERE tasks.id = ?
                """,
                (task_id,),
            )
            if not rows or any(live for _, _, live, _ in rows):
                continue
            if rows[0][3]:
                self.keep_answers(rows[0][0], now=now)
            # What an agent has started belongs to its session, which ends with it.
            self.db.write(
                """
                INSERT OR IGNORE INTO ended_sessions
                SELECT name, created_at FROM sessions
                WHERE task = ? AND EXISTS (SELECT 1 FROM tasks WHERE tasks.parent = sessions.name)
                """,
                (rows[0][0],),
            )
            self.leave_sessions(rows[0][0])
            self.db.write("DELETE FROM tasks WHERE seq = ?", (rows[0][0],))
            removed += [f"{task_id}.{number}" for _, number, _, _ in rows if number is not None]
        return removed

    def remove_runs(self, run_ids: Sequence[str]) -> None:
        """Remove runs of the past, and the conversations that began with them."""
        for task_id, number in map(task_of, run_ids):
            self.leave_sessions(self.one("SELECT seq FROM tasks WHERE id = ?", task_id)[0], run=number)
        self.db.write_all(
            "DELETE FROM sessions WHERE task = (SELECT seq FROM tasks WHERE id = ?) AND run = ?",
            [task_of(each) for each in run_ids],
        )
        self.db.write_all("DELETE FROM runs WHERE seq = ?", [(self.run_seq(each),) for each in run_ids])

    def add_environment(self, digest: str, variables: str) -> None:
        self.db.write("INSERT OR IGNORE INTO environments VALUES (?, ?)", (digest, variables))

    def environment(self, digest: str) -> Mapping[str, str]:
        import json

        rows = self.db.read("SELECT vars FROM environments WHERE digest = ?", (digest,))
        try:
            variables: dict[str, str] = json.loads(rows[0][0])
        except (IndexError, TypeError, ValueError) as error:
            raise StoreUnreadable(
                f"the environment {digest} is damaged or gone ({error}); start the task anew"
            ) from error
        return variables

    def forget_environments(self) -> None:
        """Drop the environments that no task needs any more."""
        self.db.write(
            """
            DELETE FROM environments
            WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.environment = environments.digest)
            """
        )
