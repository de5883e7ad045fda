"""Approvals: every question that was asked about a task, each answered once."""

from __future__ import annotations

from errands.model.plain import plain_text, utf8
from errands.stores.sqlite.rows import maybe_micros, maybe_moment, micros, moment
from errands.stores.sqlite.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from errands.model.approval import Approval, ApprovalState, Standing
    from errands.model.risk.verdict import Reason
    from errands.model.run import Run
    from errands.model.task import Task

_APPROVAL = (
    "approvals.id, tasks.id, approvals.run, approvals.digest, approvals.reasons, approvals.asked_at, "
    "approvals.expires_at, approvals.state, approvals.by, approvals.at, approvals.door, approvals.note "
    "FROM approvals JOIN tasks ON tasks.seq = approvals.task"
)


class ApprovalRows(Table):
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
        from errands.model.approval import Approval  # most commands have no use for it

        asked = micros(now)
        answer = (task.approved_by, asked, task.door) if is_granted else (None, None, None)
        state: ApprovalState = "granted" if is_granted else "waiting"
        written = plain_text([(each.text, each.undo, each.kind) for each in reasons])
        (seq,) = self.one("SELECT seq FROM tasks WHERE id = ?", task.id)
        number = self.db.write(
            """
            INSERT INTO approvals (task, run, digest, reasons, asked_at, expires_at, state, by, at, door)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (seq, run, task.digest, written, asked, micros(expires_at), state, *answer),
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
        )

    def question(self, task_id: str) -> Approval | None:
        found = self._approvals("WHERE tasks.id = ? AND approvals.state = 'waiting'", task_id)
        return found[0] if found else None

    def approvals(self, task_id: str | None = None, *, limit: int | None = None) -> list[Approval]:
        if task_id is not None:
            return self._approvals("WHERE tasks.id = ? ORDER BY approvals.id", task_id)
        return self._approvals("ORDER BY approvals.id DESC LIMIT ?", -1 if limit is None else limit)

    def answer(
        self, approval_id: int, state: ApprovalState, *, by: str, door: str, now: datetime, note: str = ""
    ) -> bool:
        is_answered = bool(
            self.db.write(
                """
                UPDATE approvals SET state = ?, by = ?, door = ?, at = ?, note = ?
                WHERE id = ? AND state = 'waiting'
                """,
                (state, utf8(by), door, micros(now), utf8(note), approval_id),
            ).rowcount
        )
        if is_answered and state == "refused":
            # The task may be cleared at any time; that its idea was turned down is to be known longer.
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

    def refused(self, *, since: datetime) -> list[str]:
        rows = self.db.read("SELECT text FROM refusals WHERE at > ? ORDER BY at DESC", (micros(since),))
        return [row[0] for row in rows]

    def forget_refusals(self, *, before: datetime) -> None:
        self.db.write("DELETE FROM refusals WHERE at < ?", (micros(before),))

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

    def hold(self, run: Run, *, now: datetime) -> None:
        at = micros(now)
        (seq, run_seq) = self.one("SELECT seq, run FROM tasks WHERE id = ?", run.task_id)
        self.db.write(
            """
            UPDATE runs SET state = 'pending', held = 1, started_at = NULL, pid = NULL
            WHERE seq = ? AND state IN ('pending', 'running')
            """,
            (run_seq,),
        )
        self.db.write(
            """
            UPDATE tasks SET state = 'proposed', approved_by = NULL, approved_at = NULL, updated_at = ?
            WHERE seq = ?
            """,
            (at, seq),
        )
        # A question that is still open, or an answer that was not used, was about what is no more.
        self.db.write(
            """
            UPDATE approvals SET state = 'void', at = coalesce(at, ?)
            WHERE task = ? AND run = ? AND state IN ('waiting', 'granted')
            """,
            (at, seq, run.number),
        )

    def rejudge(self, task: Task, *, now: datetime) -> None:
        self.db.write(
            """
            UPDATE tasks SET state = ?, approved_by = ?, approved_at = ?, door = ?, verdict = ?, digest = ?,
                             evidence = ?, updated_at = ?
            WHERE id = ?
            """,
            (
                task.state, task.approved_by, maybe_micros(task.approved_at), task.door, task.verdict,
                task.digest, task.evidence, micros(now), task.id,
            ),
        )  # fmt: skip

    def next_expiry(self) -> datetime | None:
        rows = self.db.read(
            "SELECT expires_at FROM approvals WHERE state = 'waiting' ORDER BY expires_at LIMIT 1"
        )
        return moment(rows[0][0]) if rows else None

    def overdue(self, *, now: datetime) -> list[Approval]:
        return self._approvals(
            "WHERE approvals.state = 'waiting' AND approvals.expires_at <= ? ORDER BY approvals.expires_at",
            micros(now),
        )

    def keep_always(self, task: Task, *, by: str, now: datetime) -> None:
        self.db.write(
            "INSERT OR REPLACE INTO always VALUES (?, ?, ?, ?, ?)",
            (task.digest, utf8(task.action.line), utf8(task.action.cwd), utf8(by), micros(now)),
        )

    def standing(self) -> list[Standing]:
        from errands.model.approval import Standing

        rows = self.db.read("SELECT digest, command, cwd, by, at FROM always ORDER BY at DESC")
        return [
            Standing(digest=digest, command=command, cwd=cwd, by=by, at=moment(at))
            for digest, command, cwd, by, at in rows
        ]

    def forget_always(self, digest: str) -> bool:
        return bool(self.db.write("DELETE FROM always WHERE digest = ?", (digest,)).rowcount)

    def always(self, digest: str) -> str | None:
        rows = self.db.read("SELECT by FROM always WHERE digest = ?", (digest,))
        return rows[0][0] if rows else None

    def _approvals(self, where: str, *values: Any) -> list[Approval]:
        rows = self.db.read(f"SELECT {_APPROVAL} {where}", values)
        return [self._approval(row) for row in rows]

    def _approval(self, row: tuple[Any, ...]) -> Approval:
        from errands.model.approval import Approval

        id_, task_id, run, digest, reasons, asked_at, expires_at, state, by, at, door, note = row
        return Approval(
            id=id_,
            task_id=task_id,
            run=run,
            digest=digest,
            reasons=_reasons(reasons),
            asked_at=moment(asked_at),
            expires_at=moment(expires_at),
            state=state,
            by=by,
            at=maybe_moment(at),
            door=door,
            note=note,
        )


def _reasons(text: str) -> tuple[Reason, ...]:
    import json

    from errands.model.risk.verdict import Reason

    try:
        return tuple(Reason(text=said, undo=undo, kind=kind) for said, undo, kind in json.loads(text))
    except (ValueError, TypeError):
        # One damaged question must not hide the others, and can still be answered.
        return (Reason(text="the reasons are damaged; look at the command", kind="damage"),)
