"""Approvals: every question that was asked about a task, each answered once."""

from __future__ import annotations

from errands.model.approval import Approval, AuditEntry, StandingApproval
from errands.model.codec import RowCodec, Shape
from errands.model.errors import ambiguous, unknown_task
from errands.model.record import fields
from errands.model.run import task_of
from errands.model.text.ids import ends_of_id
from errands.model.text.json_text import plain_text, utf8
from errands.model.verdict import Reason
from errands.stores.sqlite.columns import TYPES, maybe_micros, micros
from errands.stores.sqlite.table import OPEN_TASK, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from errands.model.approval import ApprovalState, Scope
    from errands.model.run import Run
    from errands.model.task import Task


def _reasons_text(reasons: Sequence[Reason]) -> str:
    return plain_text([(each.text, each.undo, each.kind) for each in reasons])


def _reasons(text: str) -> tuple[Reason, ...]:
    import json

    try:
        return tuple(Reason(text=said, undo=undo, kind=kind) for said, undo, kind in json.loads(text))
    except (ValueError, TypeError):
        # One damaged question must not hide the others, and can still be answered.
        return (Reason(text="the reasons are damaged; look at the command", kind="damage"),)


_APPROVAL = RowCodec(
    Approval, "approvals", TYPES, columns={"task_id": "tasks.id"}, reasons=Shape(_reasons_text, _reasons)
)
_ENTRY = RowCodec(
    AuditEntry,
    "tasks",
    TYPES,
    columns={
        "outcome": "runs.state",
        "exit_code": "runs.exit_code",
        "error": "runs.error",
        "summary": "runs.summary",
    },
    given=("approval", "is_gone"),
)
_STANDING = RowCodec(StandingApproval, "always", TYPES)
# The columns of what was asked about tasks that are gone: those above, under their own names.
_PAST = ", ".join(["id", "task", *fields(Approval)[2:], *fields(AuditEntry)[1:-1]])
_ASKED = """
    FROM approvals JOIN tasks ON tasks.seq = approvals.task
    LEFT JOIN runs ON runs.task = tasks.seq AND runs.number = approvals.run
"""
# A task and those that its runs started, removed or not.
_FAMILY = """
    family (id) AS (
        SELECT :task
        UNION
        SELECT started.id
        FROM family JOIN (
            SELECT id, created_by FROM tasks WHERE created_by >= 'run ' AND created_by < 'run!'
            UNION ALL
            SELECT task, created_by FROM past_approvals
        ) AS started
        ON started.created_by > 'run ' || family.id || '.' AND started.created_by < 'run ' || family.id || '/'
    )
"""

# What a person approved for a whole task: a question about it, or about a task that one of its runs started.
_FOR_TASK = """
    approvals.scope = 'task' AND approvals.state = 'granted'
    AND (tasks.id = ? OR (tasks.created_by > ? AND tasks.created_by < ?))
"""

KEEP_ANSWERS = f"""
    INSERT INTO past_approvals ({_PAST}, created_by, removed_at)
    SELECT {_APPROVAL.columns}, {_ENTRY.columns}, tasks.created_by, ? {_ASKED}
    WHERE tasks.seq = ? AND approvals.state <> 'waiting'
    ORDER BY approvals.id
"""


def _family(task_id: str) -> tuple[str, str, str]:
    return task_id, f"run {task_id}.", f"run {task_id}/"


class ApprovalRows(Table):
    def ask(
        self,
        task: Task,
        run: int,
        reasons: Sequence[Reason],
        *,
        now: datetime,
        expires_at: datetime,
        granted: Scope | None = None,
    ) -> Approval:
        asked, is_granted = micros(now), granted is not None
        answer = (task.approved_by, asked, task.door) if is_granted else (None, None, None)
        state: ApprovalState = "granted" if is_granted else "waiting"
        scope = granted or "once"
        written = _reasons_text(reasons)
        number = self.db.write(
            """
            INSERT INTO approvals (task, run, digest, reasons, asked_at, expires_at, state, by, at, door,
                                   scope)
            VALUES ((SELECT seq FROM tasks WHERE id = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (task.id, run, task.digest, written, asked, micros(expires_at), state, *answer, scope),
        ).lastrowid
        return Approval(
            id=number or 0,
            task_id=task.id,
            run=run,
            digest=task.digest,
            reasons=tuple(reasons),
            asked_at=now,
            expires_at=expires_at,
            state=state,
            by=answer[0],
            at=now if is_granted else None,
            door=answer[2],
            scope=scope,
        )

    def question(self, task_id: str) -> Approval | None:
        found = self._approvals("WHERE tasks.id = ? AND approvals.state = 'waiting'", task_id)
        return found[0] if found else None

    def approvals(self, task_id: str | None = None, *, expired_by: datetime | None = None) -> list[Approval]:
        where, values = [], list[object]()
        if task_id is not None:
            where.append("tasks.id = ?")
            values.append(task_id)
        if expired_by is not None:
            where.append("approvals.state = 'waiting' AND approvals.expires_at <= ?")
            values.append(micros(expired_by))
        chosen = f"WHERE {' AND '.join(where)}" if where else ""
        order = "approvals.id DESC" if task_id is None else "approvals.id"
        if expired_by is not None:
            order = "approvals.expires_at"
        return self._approvals(f"{chosen} ORDER BY {order}", *values)

    def audit(self, task_id: str | None = None, *, limit: int | None = None) -> list[AuditEntry]:
        chosen = "" if task_id is None else "WHERE {} IN (SELECT id FROM family)"
        rows = self.db.read(
            f"""
            WITH RECURSIVE {_FAMILY}
            SELECT * FROM (SELECT {_APPROVAL.columns}, {_ENTRY.columns}, 0 {_ASKED}
                           {chosen.format("tasks.id")} ORDER BY approvals.id DESC LIMIT :limit)
            UNION ALL
            SELECT * FROM (SELECT {_PAST}, 1 FROM past_approvals {chosen.format("task")}
                           ORDER BY asked_at DESC, id DESC LIMIT :limit)
            ORDER BY 6 DESC, 1 DESC LIMIT :limit
            """,
            {"task": task_id, "limit": -1 if limit is None else limit},
        )
        return [
            _ENTRY.read(row[_APPROVAL.width : -1], _APPROVAL.read(row[: _APPROVAL.width]), bool(row[-1]))
            for row in rows
        ]

    def resolve_removed(self, prefix: str) -> str:
        rows = self.db.read("SELECT DISTINCT task, created_by FROM past_approvals")
        launchers = {task_of(by.removeprefix("run "))[0] for _, by in rows if by.startswith("run ")}
        beginning, end = ends_of_id(prefix)
        known = launchers.union(task for task, _ in rows)
        ids = sorted(each for each in known if each.startswith(beginning) and each.endswith(end))
        if prefix in ids or len(ids) == 1:
            return prefix if prefix in ids else ids[0]
        if not ids:
            raise unknown_task(prefix)
        raise ambiguous(prefix, ids)

    def answer(
        self,
        approval_id: int,
        state: ApprovalState,
        *,
        by: str,
        door: str,
        now: datetime,
        note: str = "",
        scope: Scope = "once",
    ) -> bool:
        is_answered = self.changed(
            """
            UPDATE approvals SET state = ?, by = ?, door = ?, at = ?, note = ?, scope = ?
            WHERE id = ? AND state = 'waiting'
            """,
            (state, utf8(by), door, micros(now), utf8(note), scope, approval_id),
        )
        if is_answered and state == "refused":
            # The task may be cleared at any time; the refusal is remembered for longer.
            self.db.write(
                """
                INSERT INTO refusals (at, text)
                SELECT ?, tasks.name || char(10) || tasks.description || char(10) || tasks.command
                FROM approvals JOIN tasks ON tasks.seq = approvals.task
                WHERE approvals.id = ? AND tasks.state = 'proposed'
                """,
                (micros(now), approval_id),
            )
        return is_answered

    def task_approvals(self, task_id: str) -> list[Approval]:
        return self._approvals(f"WHERE {_FOR_TASK} ORDER BY approvals.id", *_family(task_id))

    def withdraw_task_approvals(self, task_id: str) -> int:
        return self.db.write(
            f"""
            UPDATE approvals SET scope = 'once'
            WHERE scope = 'task' AND state = 'granted'
            AND id IN (SELECT approvals.id FROM approvals JOIN tasks ON tasks.seq = approvals.task
                       WHERE {_FOR_TASK})
            """,
            _family(task_id),
        ).rowcount

    def recent_refusals(self, *, since: datetime) -> list[str]:
        return self.first_column("SELECT text FROM refusals WHERE at > ? ORDER BY at DESC", (micros(since),))

    def grant(self, task_id: str, *, by: str, door: str, now: datetime) -> None:
        at = micros(now)
        rows = self.db.write(
            """
            UPDATE tasks SET state = 'active', approved_by = ?, approved_at = ?, door = ?, updated_at = ?
            WHERE id = ? AND state = 'proposed' RETURNING run
            """,
            (utf8(by), at, door, at, task_id),
        ).fetchall()
        for (seq,) in rows:
            self.db.write("UPDATE runs SET held = 0 WHERE seq = ? AND state = 'pending'", (seq,))

    def hold(self, run: Run, *, now: datetime) -> bool:
        at = micros(now)
        rows = self.db.write(
            f"""
            UPDATE tasks SET state = 'proposed', approved_by = NULL, approved_at = NULL, updated_at = ?
            WHERE id = ? AND state IN ({OPEN_TASK}) RETURNING seq, run
            """,
            (at, run.task_id),
        ).fetchall()
        for seq, run_seq in rows:
            self.db.write(
                """
                UPDATE runs SET state = 'pending', held = 1, started_at = NULL, pid = NULL
                WHERE seq = ? AND state IN ('pending', 'running')
                """,
                (run_seq,),
            )
            # An open question, or an answer that was not used yet, is about what has changed since.
            self.db.write(
                """
                UPDATE approvals SET state = 'void', at = coalesce(at, ?)
                WHERE task = ? AND run = ? AND state IN ('waiting', 'granted')
                """,
                (at, seq, run.number),
            )
        return bool(rows)

    def rejudge(self, task: Task, *, now: datetime) -> bool:
        return self.changed(
            """
            UPDATE tasks SET state = ?, approved_by = ?, approved_at = ?, door = ?, verdict = ?, digest = ?,
                             evidence = ?, updated_at = ?
            WHERE id = ? AND state IN ('active', 'proposed')
            """,
            (
                task.state, task.approved_by, maybe_micros(task.approved_at), task.door, task.verdict,
                task.digest, task.evidence, micros(now), task.id,
            ),
        )  # fmt: skip

    def add_standing_approval(self, task: Task, *, by: str, now: datetime) -> None:
        self.db.write(
            "INSERT OR REPLACE INTO always VALUES (?, ?, ?, ?, ?)",
            (task.digest, utf8(task.action.line), utf8(task.action.cwd), utf8(by), micros(now)),
        )

    def standing_approvals(self, digest: str | None = None) -> list[StandingApproval]:
        where, values = ("", ()) if digest is None else ("WHERE digest = ?", (digest,))
        rows = self.db.read(f"SELECT {_STANDING.columns} FROM always {where} ORDER BY at DESC", values)
        return [_STANDING.read(row) for row in rows]

    def remove_standing_approval(self, digest: str) -> bool:
        return self.changed("DELETE FROM always WHERE digest = ?", (digest,))

    def _approvals(self, where: str, *values: Any) -> list[Approval]:
        rows = self.db.read(
            f"""
            SELECT {_APPROVAL.columns} FROM approvals JOIN tasks ON tasks.seq = approvals.task {where}
            """,
            values,
        )
        return [_APPROVAL.read(row) for row in rows]
