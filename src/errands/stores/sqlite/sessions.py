"""Sessions: the conversations of agents, what their runs were asked and answered, and what they wait for."""

from __future__ import annotations

from errands.model.agent.session import USAGE, Exchange, OrphanSession, Session
from errands.model.codec import RowCodec
from errands.stores.sqlite.columns import EXCHANGE, TYPES, micros
from errands.stores.sqlite.table import Table, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from errands.model.agent.session import Waiting

_SESSION = RowCodec(Session, "sessions", TYPES, columns={"task_id": "tasks.id"})
_SESSIONS = f"SELECT {_SESSION.columns} FROM sessions JOIN tasks ON tasks.seq = sessions.task"
_ORPHAN = RowCodec(OrphanSession, "remnants", TYPES)
_RUN_ID = "tasks.id || '.' || runs.number"


class SessionRows(Table):
    def add_session(self, session: Session) -> None:
        values = _SESSION.write(session)
        self.db.write(
            f"""
            INSERT INTO sessions (task, {_SESSION.written_columns})
            SELECT seq, {marks(values)} FROM tasks WHERE id = ?
            ON CONFLICT (task, run) DO UPDATE SET name = excluded.name
            """,
            (*values, session.task_id),
        )

    def session(self, task_id: str | None = None, *, name: str | None = None) -> Session | None:
        # Run 0 is a conversation that came with the task: no prompt goes there.
        where, value = ("sessions.run > 0 AND tasks.id", task_id) if name is None else ("sessions.name", name)
        order = "sessions.run" if name is None else "sessions.seq"
        rows = self.db.read(f"{_SESSIONS} WHERE {where} = ? ORDER BY {order} DESC LIMIT 1", (value,))
        return _SESSION.read(rows[0]) if rows else None

    def sessions(self, *, limit: int) -> list[Session]:
        rows = self.db.read(
            f"{_SESSIONS} WHERE sessions.run > 0 ORDER BY sessions.seq DESC LIMIT ?", (limit,)
        )
        return [_SESSION.read(row) for row in rows]

    def mark_session_gone(self, session: Session, *, now: datetime) -> None:
        self.db.write(
            """
            UPDATE sessions SET gone_at = ?
            WHERE task = (SELECT seq FROM tasks WHERE id = ?) AND run = ? AND gone_at IS NULL
            """,
            (micros(now), session.task_id, session.run),
        )
        self.db.write(f"DELETE FROM messages WHERE session = {_SEQ}", (session.task_id, session.run))

    def messages(self, session: Session) -> list[str]:
        return self.first_column(
            f"SELECT body FROM messages WHERE session = {_SEQ} ORDER BY seq", (session.task_id, session.run)
        )

    def add_messages(self, session: Session, bodies: Sequence[str], *, run: int, now: datetime) -> None:
        self.db.write_all(
            f"INSERT INTO messages (session, run, body, at) VALUES ({_SEQ}, ?, ?, ?)",
            [(session.task_id, session.run, run, body, micros(now)) for body in bodies],
        )

    def add_exchange(self, run_id: str, text: str, *, is_awaited: bool = False) -> None:
        self.db.write(
            "INSERT OR IGNORE INTO exchanges (run, text, awaited) VALUES (?, ?, ?)",
            (self.run_seq(run_id), text, is_awaited),
        )

    def exchange(self, run_id: str) -> Exchange | None:
        rows = self.db.read(
            f"SELECT {EXCHANGE.columns} FROM exchanges WHERE run = ?", (self.run_seq(run_id),)
        )
        return EXCHANGE.read(rows[0]) if rows else None

    def exchanges(self, task_id: str) -> list[tuple[int, Exchange]]:
        rows = self.db.read(
            f"""
            SELECT runs.number, {EXCHANGE.columns}
            FROM tasks JOIN runs ON runs.task = tasks.seq JOIN exchanges ON exchanges.run = runs.seq
            WHERE tasks.id = ? ORDER BY runs.number
            """,
            (task_id,),
        )
        return [(row[0], EXCHANGE.read(row[1:])) for row in rows]

    def last_answer(self, task_id: str) -> str | None:
        rows = self.db.read(
            """
            SELECT exchanges.answer
            FROM tasks JOIN runs ON runs.task = tasks.seq JOIN exchanges ON exchanges.run = runs.seq
            WHERE tasks.id = ? AND runs.state = 'completed' ORDER BY runs.number DESC LIMIT 1
            """,
            (task_id,),
        )
        return rows[0][0] if rows else None

    def note_answer(
        self, run_id: str, answer: str | None, *, failure: str | None = None, error: str | None = None
    ) -> None:
        self.db.write(
            "UPDATE exchanges SET answer = ?, failure = ?, error = ?, waiting = NULL WHERE run = ?",
            (answer, failure, error, self.run_seq(run_id)),
        )

    def note_activity(
        self, run_id: str, *, usage: Mapping[str, int], tools: Sequence[str], now: datetime
    ) -> None:
        sums = ", ".join(f"{name} = {name} + ?" for name in USAGE)
        self.db.write(
            f"UPDATE exchanges SET {sums}, tools = ?, active_at = ? WHERE run = ?",
            (*(usage.get(name, 0) for name in USAGE), " ".join(tools), micros(now), self.run_seq(run_id)),
        )

    def set_waiting(self, run_id: str, waiting: Waiting | None) -> None:
        self.db.write("UPDATE exchanges SET waiting = ? WHERE run = ?", (waiting, self.run_seq(run_id)))

    def waiting_runs(self) -> dict[str, Waiting]:
        rows = self.db.read(
            f"""
            SELECT {_RUN_ID}, exchanges.waiting
            FROM exchanges INDEXED BY exchanges_waiting
            JOIN runs ON runs.seq = exchanges.run JOIN tasks ON tasks.seq = runs.task
            WHERE exchanges.waiting IS NOT NULL AND runs.state = 'running' ORDER BY exchanges.run
            """
        )
        return dict(rows)

    def is_awaited(self, run_id: str) -> bool:
        rows = self.db.read("SELECT awaited FROM exchanges WHERE run = ?", (self.run_seq(run_id),))
        return bool(rows and rows[0][0])

    def set_awaited(self, run_id: str, text: str | None) -> None:
        seq = self.run_seq(run_id)
        if text is None:
            self.db.write("UPDATE exchanges SET awaited = 0 WHERE run = ?", (seq,))
        else:
            self.db.write(
                """
                INSERT INTO exchanges (run, text, awaited) VALUES (?, ?, 1)
                ON CONFLICT (run) DO UPDATE SET awaited = 1
                """,
                (seq, text),
            )

    def live_children(self, session: str) -> list[str]:
        return self.first_column(
            f"""
            SELECT {_RUN_ID} FROM tasks JOIN runs ON runs.seq = tasks.run
            WHERE tasks.parent = ? AND runs.state IN ('pending', 'running') ORDER BY tasks.seq
            """,
            (session,),
        )

    def orphan_sessions(self, *, now: datetime) -> list[OrphanSession]:
        rows = self.db.read(
            f"SELECT {_ORPHAN.columns} FROM remnants WHERE next_at <= ? ORDER BY seq",
            (micros(now),),
        )
        return [_ORPHAN.read(row) for row in rows]

    def retry_orphan(self, orphan: OrphanSession, *, at: datetime | None) -> None:
        if at is None:
            self.db.write("DELETE FROM remnants WHERE seq = ?", (orphan.seq,))
        else:
            self.db.write(
                "UPDATE remnants SET tries = tries + 1, next_at = ? WHERE seq = ?", (micros(at), orphan.seq)
            )

    def see_session(self, name: str, *, now: datetime, reopens: bool = True) -> None:
        self.db.write(
            """
            INSERT INTO parent_sessions (name, seen_at) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE
            SET seen_at = max(seen_at, excluded.seen_at), ended_at = iif(?, NULL, ended_at)
            """,
            (name, micros(now), reopens),
        )

    def end_session(self, name: str, *, now: datetime) -> None:
        self.db.write(
            """
            INSERT INTO parent_sessions (name, seen_at, ended_at) VALUES (?1, ?2, ?2)
            ON CONFLICT (name) DO UPDATE SET ended_at = coalesce(ended_at, excluded.ended_at)
            """,
            (name, micros(now)),
        )


_SEQ = "(SELECT seq FROM sessions WHERE task = (SELECT seq FROM tasks WHERE id = ?) AND run = ?)"
