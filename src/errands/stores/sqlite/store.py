"""The store in one SQLite file."""

from __future__ import annotations

from errands.model.errors import AlreadyActive, IllegalMove, NotFound, StoreUnreadable
from errands.model.run import Run
from errands.model.task import PRIORITIES
from errands.stores.sqlite.columns import TASK, maybe_micros, micros
from errands.stores.sqlite.connection import IntegrityError
from errands.stores.sqlite.table import OPEN_TASK, Table, marks
from errands.stores.sqlite.views import ViewRows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from errands.model.run import Cause
    from errands.model.schedule.cursor import ScheduleCursor
    from errands.model.task import Task
    from errands.stores.sqlite.approvals import ApprovalRows
    from errands.stores.sqlite.notices import NoticeRows
    from errands.stores.sqlite.queue import QueueRows
    from errands.stores.sqlite.reports import ReportRows
    from errands.stores.sqlite.retention import RetentionRows
    from errands.stores.sqlite.schedules import ScheduleRows
    from errands.stores.sqlite.sessions import SessionRows
    from errands.stores.sqlite.transitions import TransitionRows

    class RareRows(
        TransitionRows,
        NoticeRows,
        SessionRows,
        ApprovalRows,
        QueueRows,
        ScheduleRows,
        RetentionRows,
        ReportRows,
    ): ...

else:
    # The module and the class of each part, in the order in which they are searched.
    _RARE = {
        "transitions": "TransitionRows",
        "notices": "NoticeRows",
        "sessions": "SessionRows",
        "approvals": "ApprovalRows",
        "queue": "QueueRows",
        "retention": "RetentionRows",
        "schedules": "ScheduleRows",
        "reports": "ReportRows",
    }

    class RareRows(Table):
        """Methods that most commands never call, added to the store when the first one is called.

        To import them at once would cost every command 3 ms.
        """

        def __getattr__(self, name):
            for module, part in _RARE.items():
                rows = getattr(__import__(f"errands.stores.sqlite.{module}", fromlist=[part]), part)
                if hasattr(rows, name):
                    setattr(type(self), name, getattr(rows, name))
                    return getattr(self, name)
            raise AttributeError(name)


_ADD_TASK = (
    f"INSERT INTO tasks ({TASK.written_columns}, run) VALUES ({marks(TASK.written_columns.split(', '))}, "
)
# Within a transaction the number of the next run is known, so it is written with the task.
_ADD_TASK_WITH_RUN = f"{_ADD_TASK} (SELECT coalesce(max(seq), 0) + 1 FROM runs))"
_ADD_TASK_WITHOUT = f"{_ADD_TASK} NULL)"


class SqliteStore(RareRows, ViewRows):
    """Adds tasks, runs, environments and templates; the modules beside this one do the rest."""

    def __enter__(self) -> SqliteStore:
        self.db.__enter__()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.db.__exit__(kind, error, trace)

    def close(self) -> None:
        self.db.close()

    def add_task(
        self, task: Task, *, not_before: datetime | None = None, held_by: str | None = None
    ) -> Run | None:
        seq = self._add(task, has_run=True)
        if seq is None:
            return None
        self.db.write(
            """
            INSERT INTO runs (task, number, cause, state, lane, priority, created_at, held, not_before,
                              paused_at, paused_by)
            VALUES (?, 1, 'submit', 'pending', ?, ?, ?, ?, ?, ?, ?)
            """,
            (
                seq,
                task.lane,
                PRIORITIES.index(task.priority),
                micros(task.created_at),
                int(task.state == "proposed"),
                maybe_micros(not_before),
                None if held_by is None else micros(task.created_at),
                held_by,
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
            (seq, micros(cursor.processed_until), maybe_micros(cursor.next_at)),
        )
        return True

    def _add(self, task: Task, *, has_run: bool) -> int | None:
        """Write a task, and which run will be its first; None when its id is taken."""
        try:
            sql = _ADD_TASK_WITH_RUN if has_run else _ADD_TASK_WITHOUT
            seq = self.db.write(sql, TASK.write(task)).lastrowid
        except IntegrityError as error:
            if "tasks.id" in str(error):
                return None
            raise
        if task.parent is not None:
            self.see_session(task.parent, now=task.created_at, reopens=False)
        return seq

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
        except IntegrityError:
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

    def add_environment(self, digest: str, variables: str) -> None:
        self.db.write("INSERT OR IGNORE INTO environments VALUES (?, ?)", (digest, variables))

    def environment(self, digest: str) -> Mapping[str, str]:
        import json

        rows = self.db.read("SELECT vars FROM environments WHERE digest = ?", (digest,))
        try:
            variables: dict[str, str] = json.loads(rows[0][0])
        except (IndexError, TypeError, ValueError) as error:
            raise StoreUnreadable(
                f"the environment {digest} is damaged or gone ({error}); submit the task again"
            ) from error
        return variables

    def save_template(self, name: str, draft: str, *, now: datetime) -> None:
        self.db.write("INSERT OR REPLACE INTO templates VALUES (?, ?, ?)", (name, draft, micros(now)))

    def template(self, name: str) -> str:
        rows = self.db.read("SELECT draft FROM templates WHERE name = ?", (name,))
        if not rows:
            raise NotFound(f"unknown template {name!r}; `errands template ls` lists the templates")
        return str(rows[0][0])

    def templates(self) -> dict[str, str]:
        return dict(self.db.read("SELECT name, draft FROM templates ORDER BY name"))

    def remove_template(self, name: str) -> None:
        if not self.db.write("DELETE FROM templates WHERE name = ?", (name,)).rowcount:
            raise NotFound(f"unknown template {name!r}; `errands template ls` lists the templates")
