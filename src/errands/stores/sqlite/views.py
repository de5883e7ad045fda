"""Views: what doors show, read in one query whatever the number of tasks."""

from __future__ import annotations

from errands.model.action import Prompt
from errands.model.errors import Ambiguous, NotFound, StoreUnreadable
from errands.model.event import Event
from errands.model.record import evolve
from errands.model.states import OPEN
from errands.model.task import PRIORITIES
from errands.model.view import AgentView, RunView, View, shown_state
from errands.stores.sqlite.rows import TASK_COLUMNS, action_from, maybe_moment, micros, moment, task_from
from errands.stores.sqlite.sessions import EXCHANGE, exchange_from
from errands.stores.sqlite.table import Table, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from errands.ports.store import Query

_TASK = (
    "tasks.id, tasks.kind, tasks.state, tasks.name, tasks.description, tasks.command, tasks.cwd, tasks.lane, "
    "tasks.priority, tasks.batch, tasks.key, tasks.template, tasks.owner, tasks.notify, tasks.parent, "
    "tasks.created_at, tasks.created_by, tasks.updated_at, tasks.due_at, runs.waits, tasks.approved_by, "
    "tasks.approved_at, tasks.door, tasks.verdict"
)
_RUN = (
    "runs.number, runs.cause, runs.state, runs.attempt, runs.created_at, runs.started_at, runs.completed_at, "
    "runs.stop_requested_at, runs.pid, runs.exit_code, runs.signal, runs.failure, runs.error, runs.elapsed, "
    "runs.bytes, runs.lines, runs.truncated, runs.leftovers, runs.summary, runs.hooks, runs.output_failed, "
    "runs.retrieved_at"
)
MANY = 5000  # ids in one question: SQLite takes a limited number of values
_SPOKEN = " LEFT JOIN exchanges ON exchanges.run = runs.seq"
_LATEST = f"FROM tasks JOIN runs ON runs.seq = tasks.run{_SPOKEN}"
# What only agents have; of everybody else it is NULL, and costs nothing.
_AGENT = f"""
    CASE tasks.kind WHEN 'agent' THEN tasks.action END,
    CASE tasks.kind WHEN 'agent' THEN
        (SELECT count(*) FROM runs AS all_runs WHERE all_runs.task = tasks.seq AND all_runs.cause = 'resume')
    END, {EXCHANGE}
"""
_WIDTH = _TASK.count(",") + 1
_WHOLE = _WIDTH + _RUN.count(",") + 1


class ViewRows(Table):
    def views(self, query: Query) -> list[View]:
        where: list[str] = []
        values: list[Any] = []
        source = "tasks JOIN runs ON runs.seq = tasks.run"
        if query.ids is not None:
            where.append(f"tasks.id IN ({marks(query.ids)})")
            values += query.ids
        if query.batch is not None:
            where.append("tasks.batch = ?")
            values.append(query.batch)
        if query.parent is not None:
            where.append("tasks.parent = ?")
            values.append(query.parent)
        if query.owner is not None:
            where.append("tasks.owner = ?")
            values.append(query.owner)
        if query.states:
            where.append(
                f"(tasks.state IN ({marks(query.states)}) OR "
                f"(tasks.state NOT IN ('proposed', 'rejected') AND (runs.state IN ({marks(query.states)})"
                " OR (? AND runs.cause = 'resume' AND runs.state IN ('pending', 'running')))))"
            )
            values += [*query.states, *query.states, "resumed" in query.states]
            if all(state in OPEN for state in query.states):
                # Live runs are few: start from their partial index instead of walking every task.
                source = (
                    "runs INDEXED BY one_live_run "
                    "CROSS JOIN tasks ON tasks.seq = runs.task AND tasks.run = runs.seq"
                )
                where.append("runs.state IN ('pending', 'running')")
        elif query.ids is None:
            where.append("tasks.state <> 'rejected'")
        if query.before is not None:
            where.append("tasks.seq < (SELECT seq FROM tasks WHERE id = ?)")
            values.append(query.before)
        rows = self.db.read(
            f"""
            SELECT {_TASK}, {_RUN}, {_AGENT} FROM {source}{_SPOKEN}
            {"WHERE " + " AND ".join(where) if where else ""}
            ORDER BY tasks.seq DESC LIMIT ?
            """,
            (*values, -1 if query.limit is None else query.limit),
        )
        return [view for row in rows if (view := self._readable(row)) is not None]

    def view(self, task_id: str) -> View:
        view = self._readable(
            self.one(f"SELECT {_TASK}, {_RUN}, {_AGENT} {_LATEST} WHERE tasks.id = ?", task_id)
        )
        if view is None:
            raise StoreUnreadable(f"the record of task {task_id} is damaged; see `errands doctor`")
        return view

    def damaged(self) -> list[str]:
        """Name the tasks whose records cannot be understood. It reads everything: for `doctor` alone."""
        from errands.model.approval import evidence_of

        rows = self.db.read(
            f"SELECT {_TASK}, {_RUN}, {_AGENT} FROM tasks LEFT JOIN runs ON runs.seq = tasks.run{_SPOKEN}"
        )
        found = [str(row[0]) for row in rows if row[_WIDTH] is None or self._readable(row) is None]
        for row in self.db.read(f"SELECT {TASK_COLUMNS} FROM tasks"):
            try:
                evidence_of(task_from(row))
            except StoreUnreadable:
                found.append(str(row[0]))
        return sorted(set(found))

    def history(self, task_id: str) -> tuple[RunView, ...]:
        """All runs of a task, oldest first."""
        rows = self.db.read(
            f"""
            SELECT {_RUN} FROM tasks JOIN runs ON runs.task = tasks.seq
            WHERE tasks.id = ? ORDER BY runs.number
            """,
            (task_id,),
        )
        try:
            return tuple(self._run_view(task_id, row) for row in rows)
        except (TypeError, ValueError, OverflowError) as error:
            raise StoreUnreadable(
                f"the history of task {task_id} is damaged ({error}); see `errands doctor`"
            ) from error

    def resolve(self, prefix: str) -> str:
        rows = self.db.read(
            """
            SELECT tasks.id, runs.completed_at IS NULL
            FROM tasks LEFT JOIN runs ON runs.seq = tasks.run
            WHERE tasks.id >= ? AND tasks.id < ? ORDER BY tasks.id = ? DESC, tasks.seq DESC LIMIT 100
            """,
            (prefix, prefix + "\U0010ffff", prefix),
        )
        ids = [row[0] for row in rows]
        if prefix in ids:
            return prefix
        if not ids:
            raise NotFound(f"there is no task {prefix!r}; `errands ls` shows those there are")
        # A whole name beats the beginning of a longer one, and what lives beats what is over.
        named = [row for row in rows if row[0].rpartition("-")[0] == prefix] or rows
        meant = named if len(named) == 1 else [row for row in named if row[1]]
        if len(meant) == 1 and len(rows) < 100:
            return str(meant[0][0])
        more = ", ..." if len(ids) > 5 else ""
        said = f"{prefix!r} fits several tasks: {', '.join(sorted(ids)[:5])}{more}; give more letters"
        raise Ambiguous(said, prefix=prefix, ids=ids)

    def keyed(self, key: str) -> str | None:
        rows = self.db.read("SELECT id FROM tasks WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def ended(self, task_id: str) -> bool:
        rows = self.db.read(
            "SELECT runs.completed_at FROM tasks JOIN runs ON runs.seq = tasks.run WHERE tasks.id = ?",
            (task_id,),
        )
        if not rows:
            raise NotFound(f"task {task_id!r} is gone; it was cleared")
        return rows[0][0] is not None

    def liveness(self, task_ids: Sequence[str]) -> dict[str, bool]:
        found: dict[str, bool] = {}
        for start in range(0, len(task_ids), MANY):
            some = task_ids[start : start + MANY]
            sql = f"""
                SELECT tasks.id, runs.completed_at IS NULL
                FROM tasks JOIN runs ON runs.seq = tasks.run WHERE tasks.id IN ({marks(some)})
            """
            found.update(self.db.read(sql, some))
        return found

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
            {"task": self.one("SELECT seq FROM tasks WHERE id = ?", task_id)[0]},
        )
        return [
            Event(seq=seq, task_id=task_id, run=run, name=name, at=moment(at), detail=detail)
            for seq, (run, name, at, detail) in enumerate(rows, start=1)
        ]

    def counts(self) -> dict[str, int]:
        rows = self.db.read(
            """
            SELECT iif(held, 'proposed', state) AS shown, count(*) FROM runs INDEXED BY one_live_run
            WHERE state IN ('pending', 'running') GROUP BY shown
            UNION ALL SELECT state, n FROM counts
            """
        )
        return {"proposed": 0, "pending": 0, "running": 0, **dict(rows)}

    def running_ids(self) -> list[str]:
        rows = self.db.read(
            """
            SELECT tasks.id || '.' || runs.number
            FROM runs INDEXED BY one_live_run JOIN tasks ON tasks.seq = runs.task
            WHERE runs.state IN ('pending', 'running') AND runs.state = 'running'
            """
        )
        return [row[0] for row in rows]

    def expired(self, *, before: datetime, limit: int) -> list[str]:
        rows = self.db.read(
            """
            SELECT tasks.id
            FROM runs INDEXED BY runs_ended
            CROSS JOIN tasks ON tasks.seq = runs.task AND tasks.run = runs.seq
            WHERE runs.completed_at < ?
              AND (tasks.parent IN (SELECT name FROM ended_sessions)
                   OR (tasks.parent IS NULL AND tasks.kind <> 'agent'))
              AND NOT EXISTS (SELECT 1 FROM waits WHERE waits.on_task = tasks.seq)
            ORDER BY runs.completed_at LIMIT ?
            """,
            (micros(before), limit),
        )
        return [row[0] for row in rows]

    def superseded(self, *, before: datetime, limit: int) -> list[str]:
        rows = self.db.read(
            """
            SELECT tasks.id || '.' || runs.number FROM runs JOIN tasks ON tasks.seq = runs.task
            WHERE runs.completed_at < ? AND tasks.run <> runs.seq
              AND runs.number < coalesce(
                  (SELECT max(sessions.run) FROM sessions WHERE sessions.task = tasks.seq), runs.number + 1)
            ORDER BY runs.completed_at LIMIT ?
            """,
            (micros(before), limit),
        )
        return [row[0] for row in rows]

    def _readable(self, row: tuple[Any, ...]) -> View | None:
        """A damaged row is left out, so that it cannot hide the others; `doctor` names it."""
        try:
            return self._view(row)
        except (TypeError, ValueError, IndexError, OverflowError):
            return None

    def _view(self, row: tuple[Any, ...]) -> View:
        (
            id_, kind, state, name, description, command, cwd, lane, priority, batch, key, template,
            owner, notify, parent, created_at, created_by, updated_at, due_at, waits, approved_by,
            approved_at, door, verdict,
        ) = row[:_WIDTH]  # fmt: skip
        latest = self._run_view(id_, row[_WIDTH:_WHOLE])
        return View(
            id=id_,
            kind=kind,
            state=shown_state(state, latest),
            task_state=state,
            name=name,
            description=description,
            command=command,
            cwd=cwd,
            lane=lane,
            priority=PRIORITIES[priority],
            batch=batch,
            key=key,
            template=template,
            owner=owner,
            notify=notify,
            parent=parent,
            created_at=moment(created_at),
            created_by=created_by,
            updated_at=moment(updated_at),
            runs=latest.number,
            due_at=maybe_moment(due_at),
            waits=waits,
            latest=latest,
            approved_by=approved_by,
            approved_at=maybe_moment(approved_at),
            door=door,
            verdict=verdict,
            agent=None if row[_WHOLE] is None else _agent_view(*row[_WHOLE:]),
        )

    def _run_view(self, task_id: str, row: tuple[Any, ...]) -> RunView:
        (
            number, cause, state, attempt, created_at, started_at, completed_at, stop_requested_at, pid,
            exit_code, signal, failure, error, elapsed, bytes_, lines, truncated, leftovers, summary,
            hooks, output_failed, retrieved_at,
        ) = row  # fmt: skip
        return RunView(
            id=f"{task_id}.{number}",
            number=number,
            cause=cause,
            state=state,
            attempt=attempt,
            created_at=moment(created_at),
            started_at=maybe_moment(started_at),
            completed_at=maybe_moment(completed_at),
            stop_requested_at=maybe_moment(stop_requested_at),
            pid=pid,
            exit_code=exit_code,
            signal=signal,
            failure=failure,
            error=error,
            elapsed=elapsed,
            bytes=bytes_,
            lines=lines,
            truncated=bool(truncated),
            leftovers=leftovers,
            summary=summary,
            hooks=hooks,
            output_failed=output_failed,
            retrieved_at=maybe_moment(retrieved_at),
            output_file=f"{self.runs_dir}/{task_id}.{number}/output.log",
        )


def _agent_view(action: str, resumed: int, *exchange: Any) -> AgentView:
    prompt = action_from(action, "")
    assert isinstance(prompt, Prompt)
    view = AgentView(
        name=prompt.agent, model=prompt.model, resume_count=resumed, forked=prompt.fork is not None
    )
    if exchange[0] is None:
        return view
    said = exchange_from(exchange)
    return evolve(
        view,
        tool_calls=said.usage.get("tool_calls", 0),
        tools=said.tools,
        usage=said.usage,
        activity_at=said.activity_at,
        waiting=said.waiting,
        answer=said.answer,
    )
