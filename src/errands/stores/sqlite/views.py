"""Views: what frontends show, read in one query however many tasks there are."""

from __future__ import annotations

from errands.model.agent.session import is_message_batch
from errands.model.codec import RowCodec, Shape
from errands.model.errors import NotFound, StoreUnreadable, ambiguous, unknown_task
from errands.model.limits import LaneWidth
from errands.model.states import ENDED, OPEN
from errands.model.text.ids import ends_of_id, meant
from errands.model.text.json_text import plain_text
from errands.model.view import RecurringView, RunView, View, shown_state, unrun
from errands.ports.rundir import LOG
from errands.ports.store import MOST_IDS
from errands.stores.sqlite.columns import (
    DAMAGE,
    EXCHANGE,
    PRIORITY,
    TASK,
    TYPES,
    agent_view,
    maybe_moment,
    micros,
    moment,
    standing_from,
    task_from,
)
from errands.stores.sqlite.table import OF_AGENT, Table, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from errands.model.run import Cause
    from errands.ports.store import Query

# The kind of a task as people call it: what it does, or that another host does it.
SHOWN_KIND = "CASE tasks.host WHEN '' THEN tasks.kind ELSE 'remote' END"
_VIEW = RowCodec(
    View,
    "tasks",
    TYPES,
    columns={"kind": SHOWN_KIND, "task_state": "state", "waits": "runs.waits"},
    given=("state", "runs", "latest", "agent", "standing"),
    unread=("progress", "activity_at", "question", "retry", "runs_on", "no_host", "details", "history"),
    priority=PRIORITY,
    waits=Shape(read=lambda waits: waits or 0),
)
_RUN = RowCodec(RunView, "runs", TYPES, given=("id", "output_file"), unread=("result", "usage"))
_SPOKEN = " LEFT JOIN exchanges ON exchanges.run = runs.seq"
# A recurring task has no run until it first fires, and only recurring tasks have a cursor (`hearings`).
_ALL = "tasks LEFT JOIN runs ON runs.seq = tasks.run"
_HEARD = " LEFT JOIN hearings ON tasks.standing IS NOT NULL AND hearings.task = tasks.seq"
_LATEST = f"FROM {_ALL}{_SPOKEN}{_HEARD}"
_STANDING = """
    tasks.standing, hearings.next_at, hearings.runs, hearings.failures,
    CASE WHEN tasks.standing IS NOT NULL THEN
        (SELECT started_at FROM runs AS past WHERE past.task = tasks.seq AND past.started_at IS NOT NULL
         ORDER BY past.number DESC LIMIT 1)
    END,
    CASE WHEN tasks.standing IS NOT NULL THEN
        (SELECT health || ' ' || coalesce(checked_at, '') FROM watches WHERE watches.task = tasks.seq)
    END,
    CASE WHEN tasks.standing IS NOT NULL THEN
        (SELECT at FROM signals WHERE signals.task = tasks.seq AND signals.run IS NOT 0
         ORDER BY at DESC LIMIT 1)
    END
"""
# The state of a task as people call it: the state of its run, or its own.
SHOWN_STATE = (
    "CASE WHEN tasks.standing IS NOT NULL OR tasks.state IN ('proposed', 'rejected') THEN tasks.state "
    "WHEN runs.cause = 'resume' AND runs.state IN ('pending', 'running') THEN 'resumed' "
    "ELSE runs.state END"
)
_LIVE = (
    "(runs.seq IS NOT NULL AND runs.completed_at IS NULL) "
    "OR (tasks.standing IS NOT NULL AND tasks.state IN ('proposed', 'active', 'paused'))"
)
# What only agents have; for other tasks it is NULL, and costs nothing.
_AGENT = f"""
    CASE tasks.kind WHEN 'agent' THEN tasks.action END,
    CASE tasks.kind WHEN 'agent' THEN
        (SELECT count(*) FROM runs AS all_runs WHERE all_runs.task = tasks.seq AND all_runs.cause = 'resume')
    END,
    CASE tasks.kind WHEN 'agent' THEN tasks.limits END, {EXCHANGE.columns}
"""
# First what can start now, as `claim` orders it; then what waits for a time, for tasks, and what is held.
_START_ORDER = (
    "runs.paused_at IS NOT NULL, runs.waits > 0, runs.not_before IS NOT NULL, runs.not_before, "
    "runs.priority, coalesce(runs.place, runs.seq)"
)
_RUN_AT = _VIEW.width
_STANDING_AT = _RUN_AT + _RUN.width
_AGENT_AT = _STANDING_AT + 7
_COLUMNS = f"{_VIEW.columns}, {_RUN.columns}, {_STANDING}, {_AGENT}"
_ID, _TASK_STATE, _CREATED_AT = (_VIEW.place(name) for name in ("id", "task_state", "created_at"))


class ViewRows(Table):
    def views(self, query: Query) -> list[View]:
        source, where, values = self.selection(query)
        rows = self.db.read(f"SELECT {_COLUMNS} FROM {source}{_SPOKEN}{_HEARD} {where}", values)
        return [view for row in rows if (view := self._readable(row)) is not None]

    def selection(self, query: Query) -> tuple[str, str, list[Any]]:
        """Return the tables of a query, its conditions with order and limit, and their values."""
        where: list[str] = []
        values: list[Any] = []
        source = _ALL
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
            where.append(f"{SHOWN_STATE} IN ({marks(query.states)})")
            values += query.states
            if all(state in OPEN for state in query.states):
                # Live runs are few: start from their partial index instead of walking every task.
                where.append("runs.state IN ('pending', 'running')")
                source = (
                    "runs INDEXED BY one_live_run "
                    "CROSS JOIN tasks ON tasks.seq = runs.task AND tasks.run = runs.seq"
                )
                if "proposed" in query.states and self._has_unrun_proposals():
                    where[-1] = "(runs.completed_at IS NULL OR runs.seq IS NULL)"
                    source = _ALL
            elif all(state in ("active", "paused") for state in query.states):
                where.append("tasks.standing IS NOT NULL AND tasks.state IN ('active', 'paused')")
        elif query.ids is None:
            where.append("tasks.state <> 'rejected'")
        if not query.with_commands:
            where.append(f"NOT ({OF_AGENT})")
        if query.before is not None:
            where.append("tasks.seq < (SELECT seq FROM tasks WHERE id = ?)")
            values.append(query.before)
        if query.kind is not None:
            where.append(f"{SHOWN_KIND} = ?")
            values.append(query.kind)
        if query.lane is not None:
            where.append("tasks.lane = ?")
            values.append(query.lane)
        if query.since is not None:
            ended = "runs.completed_at >= ?"
            where.append(ended if _are_ended(query.states) else f"(runs.completed_at IS NULL OR {ended})")
            values.append(micros(query.since))
            if _are_ended(query.states) and query.ids is None:
                source = "runs INDEXED BY runs_ended CROSS JOIN tasks ON tasks.seq = runs.task"
                where.append("tasks.run = runs.seq")
        if query.text is not None:
            where.append(
                "(tasks.id LIKE ? ESCAPE '!' OR tasks.description LIKE ? ESCAPE '!' "
                "OR tasks.command LIKE ? ESCAPE '!')"
            )
            values += [_like(query.text)] * 3
        values.append(-1 if query.limit is None else query.limit)
        text = f"WHERE {' AND '.join(where)} " if where else ""
        return source, f"{text}ORDER BY tasks.seq DESC LIMIT ?", values

    def _has_unrun_proposals(self) -> bool:
        """Return whether recurring tasks that never ran wait for approval: they have no live run."""
        unrun = "standing IS NOT NULL AND state = 'proposed' AND run IS NULL"
        return bool(self.db.read(f"SELECT 1 FROM tasks WHERE {unrun} LIMIT 1"))

    def view(self, task_id: str) -> View:
        view = self._readable(self.one(f"SELECT {_COLUMNS} {_LATEST} WHERE tasks.id = ?", task_id))
        if view is None:
            raise StoreUnreadable(f"the record of task {task_id} is damaged; see `errands doctor`")
        return view

    def damaged(self) -> list[str]:
        from errands.model.approval import evidence_of

        rows = self.db.read(f"SELECT {_COLUMNS} {_LATEST}")
        found = [str(row[0]) for row in rows if self._readable(row) is None]
        for row in self.db.read(f"SELECT {TASK.columns} FROM tasks"):
            try:
                evidence_of(task_from(row))
            except StoreUnreadable:
                found.append(str(row[0]))
        return sorted(set(found))

    def history(
        self,
        task_id: str,
        *,
        limit: int = -1,
        cause: Cause | None = None,
        live_since: datetime | None = None,
    ) -> tuple[RunView, ...]:
        where, values = ["tasks.id = ?"], list[object]([task_id])
        if cause is not None:
            where.append("runs.cause = ?")
            values.append(cause)
        if live_since is not None:
            where.append("started_at IS NOT NULL AND (completed_at IS NULL OR completed_at >= ?)")
            values.append(micros(live_since))
        rows = self.db.read(
            f"""
            SELECT {_RUN.columns} FROM tasks JOIN runs ON runs.task = tasks.seq
            WHERE {" AND ".join(where)} ORDER BY runs.number DESC LIMIT ?
            """,
            (*values, limit),
        )
        try:
            return tuple(self._run_view(task_id, row) for row in reversed(rows))
        except (TypeError, ValueError, OverflowError) as error:
            raise StoreUnreadable(
                f"the history of task {task_id} is damaged ({error}); see `errands doctor`"
            ) from error

    def resolve(self, prefix: str) -> str:
        beginning, end = ends_of_id(prefix)
        rows = self.db.read(
            """
            SELECT tasks.id, runs.completed_at IS NULL
            FROM tasks LEFT JOIN runs ON runs.seq = tasks.run
            WHERE tasks.id >= ? AND tasks.id < ? AND tasks.id GLOB ?
            ORDER BY tasks.id = ? DESC, tasks.seq DESC LIMIT 100
            """,
            (beginning, beginning + "\U0010ffff", f"*{end}", prefix),
        )
        ids = [row[0] for row in rows]
        if prefix in ids:
            return prefix
        if not ids:
            raise unknown_task(prefix)
        found = meant(prefix, rows)
        if found is not None and len(rows) < 100:
            return found
        raise ambiguous(prefix, ids)

    def id_by_key(self, key: str) -> str | None:
        rows = self.db.read("SELECT id FROM tasks WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def ended(self, task_id: str) -> bool:
        rows = self.db.read(
            f"SELECT {_LIVE} FROM {_ALL} WHERE tasks.id = ?",
            (task_id,),
        )
        if not rows:
            raise NotFound(f"task {task_id!r} is gone; it was cleared")
        return not rows[0][0]

    def liveness(self, task_ids: Sequence[str]) -> dict[str, bool]:
        found: dict[str, bool] = {}
        for start in range(0, len(task_ids), MOST_IDS):
            some = task_ids[start : start + MOST_IDS]
            sql = f"""
                SELECT tasks.id, {_LIVE} FROM {_ALL} WHERE tasks.id IN ({marks(some)})
            """
            found.update(self.db.read(sql, some))
        return found

    def counts(self) -> dict[str, int]:
        rows = self.db.read(
            """
            SELECT iif(held, 'proposed', state) AS shown, count(*) FROM runs INDEXED BY one_live_run
            WHERE state IN ('pending', 'running') GROUP BY shown
            UNION ALL SELECT state, n FROM counts
            """
        )
        return {"proposed": 0, "pending": 0, "running": 0, **dict(rows)}

    def next_pending(
        self, *, limit: int, batch: str | None = None, lane: str | None = None
    ) -> tuple[list[str], int]:
        given = {"batch": batch, "lane": lane}
        values = tuple(each for each in given.values() if each is not None)
        only = "".join(f" AND tasks.{name} = ?" for name, each in given.items() if each is not None)
        waiting = f"""
            FROM runs INDEXED BY one_live_run CROSS JOIN tasks ON tasks.seq = runs.task
            WHERE runs.state IN ('pending', 'running') AND runs.state = 'pending' AND runs.held = 0
              AND tasks.standing IS NULL AND NOT ({OF_AGENT}){only}
        """
        in_order = f"SELECT tasks.id {waiting} ORDER BY {_START_ORDER} LIMIT ?"
        ids = self.first_column(in_order, (*values, limit))
        if len(ids) < limit:
            return ids, len(ids)
        return ids, self.db.read(f"SELECT count(*) {waiting}", values)[0][0]

    def start_order(self, task_ids: Sequence[str]) -> list[str]:
        return self.first_column(
            f"""
            SELECT tasks.id
            FROM json_each(?) AS given CROSS JOIN tasks ON tasks.id = given.value
                 CROSS JOIN runs ON runs.seq = tasks.run
            WHERE runs.state = 'pending' ORDER BY {_START_ORDER}
            """,
            (plain_text(list(task_ids)),),
        )

    def lane_widths(self) -> list[LaneWidth]:
        rows = self.db.read("SELECT name, width, by, at FROM lanes ORDER BY name")
        return [LaneWidth(name=name, width=width, by=by, at=moment(at)) for name, width, by, at in rows]

    def lane_load(self) -> dict[str, tuple[int, int]]:
        rows = self.db.read(
            """
            SELECT lane, sum(runs.state = 'running' AND paused_at IS NULL
                             AND coalesce(waiting, '') NOT IN ('approval', 'task')
                             AND (SELECT host FROM tasks WHERE tasks.seq = runs.task) = ''),
                   sum(runs.state = 'pending' AND held = 0 AND paused_at IS NULL)
            FROM runs INDEXED BY one_live_run LEFT JOIN exchanges ON exchanges.run = runs.seq
            WHERE runs.state IN ('pending', 'running') GROUP BY lane ORDER BY lane
            """
        )
        return {lane: (running, waiting) for lane, running, waiting in rows if running or waiting}

    def live_batches(self) -> dict[str, tuple[int, int]]:
        rows = self.db.read(
            """
            WITH live (batch) AS (
                SELECT DISTINCT tasks.batch FROM runs INDEXED BY one_live_run
                CROSS JOIN tasks ON tasks.seq = runs.task
                WHERE runs.state IN ('pending', 'running') AND tasks.batch IS NOT NULL
            )
            SELECT live.batch, sum(runs.completed_at IS NOT NULL), count(*),
                max(coalesce(tasks.parent, tasks.owner))
            FROM live CROSS JOIN tasks ON tasks.batch = live.batch LEFT JOIN runs ON runs.seq = tasks.run
            GROUP BY live.batch ORDER BY max(tasks.seq) DESC
            """
        )
        counted = (row for row in rows if not is_message_batch(row[0], row[3]))
        return {name: (ended, total) for name, ended, total, _ in counted}

    def _readable(self, row: tuple[Any, ...]) -> View | None:
        """Leave out a damaged row, so that it cannot hide the others; `doctor` names it."""
        try:
            return self._view(row)
        except DAMAGE:
            return None

    def _view(self, row: tuple[Any, ...]) -> View:
        task_id, state, standing = row[_ID], row[_TASK_STATE], row[_STANDING_AT]
        if row[_RUN_AT] is not None:
            latest = self._run_view(task_id, row[_RUN_AT:_STANDING_AT])
        elif standing is not None:
            latest = unrun(task_id, moment(row[_CREATED_AT]))
        else:
            raise ValueError(f"task {task_id} has no run")
        return _VIEW.read(
            row[:_RUN_AT],
            state if standing is not None else shown_state(state, latest),
            latest.number,
            latest,
            None if row[_AGENT_AT] is None else agent_view(*row[_AGENT_AT:]),
            None if standing is None else _standing_view(state, *row[_STANDING_AT:_AGENT_AT]),
        )

    def _run_view(self, task_id: str, row: tuple[Any, ...]) -> RunView:
        run_id = f"{task_id}.{row[0]}"
        return _RUN.read(row, run_id, f"{self.runs_dir}/{run_id}/{LOG}")


def _are_ended(states: Sequence[str]) -> bool:
    return bool(states) and all(state in ENDED for state in states)


def _like(text: str) -> str:
    """Return the pattern of texts that contain this one, letter by letter."""
    return f"%{text.replace('!', '!!').replace('%', '!%').replace('_', '!_')}%"


def _standing_view(state: str, *columns: Any) -> RecurringView:
    from errands.model.trigger import described

    text, next_at, runs, failures, last_at, watch, signal_at = columns
    health, _, checked_at = (watch or "").partition(" ")
    trigger = standing_from(text)
    return RecurringView(
        trigger=trigger,
        rule=described(trigger),
        next_at=maybe_moment(next_at) if state == "active" else None,
        last_at=maybe_moment(last_at),
        runs=runs,
        failures=failures,
        max_runs=trigger.max_runs,
        health=health or None,
        checked_at=moment(int(checked_at)) if checked_at else None,
        signal_at=maybe_moment(signal_at),
    )
