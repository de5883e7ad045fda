"""Watches: what tasks have seen of their sources, and the signals that wait for a run."""

from __future__ import annotations

from errands.model.codec import RowCodec
from errands.model.schedule.watch import Signal, Watch
from errands.model.text.json_text import utf8
from errands.stores.sqlite.columns import TEXT, TYPES, maybe_micros, maybe_moment, micros, moment
from errands.stores.sqlite.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

_WATCH = RowCodec(Watch, "watches", TYPES, columns={"task_id": "tasks.id"}, error=TEXT)
_SIGNAL = RowCodec(Signal, "signals", TYPES, columns={"id": "seq", "task_id": "tasks.id"})
_SEQ = "(SELECT seq FROM tasks WHERE id = ?)"


class WatchRows(Table):
    def keep_watch(self, watch: Watch) -> None:
        (seq,) = self.one("SELECT seq FROM tasks WHERE id = ?", watch.task_id)
        self.db.write(
            """
            INSERT INTO watches (task, baseline, checked_at, health, failures, error, broken_until)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (task) DO UPDATE SET baseline = excluded.baseline, checked_at = excluded.checked_at,
                health = excluded.health, failures = excluded.failures, error = excluded.error,
                broken_until = excluded.broken_until
            """,
            (
                seq, watch.baseline, maybe_micros(watch.checked_at), watch.health, watch.failures,
                None if watch.error is None else utf8(watch.error), maybe_micros(watch.broken_until),
            ),
        )  # fmt: skip

    def touch_watch(self, watch: Watch) -> None:
        self.db.write(
            f"""
            UPDATE watches SET checked_at = ?, health = ?, failures = ?, error = ?, broken_until = ?
            WHERE task = {_SEQ}
            """,
            (
                maybe_micros(watch.checked_at), watch.health, watch.failures,
                None if watch.error is None else utf8(watch.error), maybe_micros(watch.broken_until),
                watch.task_id,
            ),
        )  # fmt: skip

    def watch(self, task_id: str) -> Watch | None:
        found = self._watches(f"WHERE watches.task = {_SEQ}", task_id)
        return found[0] if found else None

    def watches(self) -> list[Watch]:
        return self._watches("WHERE tasks.state = 'active' ORDER BY watches.task")

    def watched_tasks(self) -> list[str]:
        # CROSS JOIN keeps the order: there are few watches, and tasks by the million.
        rows = self.db.read(
            """
            SELECT tasks.id FROM watches CROSS JOIN tasks ON tasks.seq = watches.task
            WHERE tasks.state = 'active'
            """
        )
        return [row[0] for row in rows]

    def add_signal(
        self, task_id: str, body: str, *, now: datetime, key: str | None = None, run: int | None = None
    ) -> datetime | None:
        (seq,) = self.one("SELECT seq FROM tasks WHERE id = ?", task_id)
        # No two signals of a task have the same time, because records of them are named after it.
        rows = self.db.write(
            """
            INSERT OR IGNORE INTO signals (task, key, at, body, run)
            VALUES (?, ?, max(?, (SELECT coalesce(max(at) + 1, 0) FROM signals WHERE task = ?)), ?, ?)
            RETURNING at
            """,
            (seq, key, micros(now), seq, utf8(body), run),
        ).fetchall()
        return moment(rows[0][0]) if rows else None

    def waiting_signals(self, task_id: str) -> tuple[int, datetime | None, datetime | None]:
        rows = self.db.read(
            f"SELECT count(*), min(at), max(at) FROM signals WHERE task = {_SEQ} AND run IS NULL", (task_id,)
        )
        count, first, last = rows[0]
        return count, maybe_moment(first), maybe_moment(last)

    def last_signal(self, task_id: str) -> Signal | None:
        found = self._signals(
            f"signals.task = {_SEQ} AND signals.run IS NOT 0 ORDER BY signals.at DESC LIMIT 1", task_id
        )
        return found[0] if found else None

    def signals(self, task_id: str, *, run: int | None = None) -> list[Signal]:
        return self._signals(f"signals.task = {_SEQ} AND signals.run IS ? ORDER BY signals.seq", task_id, run)

    def assign_signals(self, task_id: str, *, run: int) -> int:
        return self.db.write(
            f"UPDATE signals SET run = ? WHERE task = {_SEQ} AND run IS NULL", (run, task_id)
        ).rowcount

    def event_runs(self, task_id: str, *, limit: int) -> list[datetime]:
        rows = self.db.read(
            f"""
            SELECT created_at FROM runs WHERE task = {_SEQ} AND cause = 'event' ORDER BY number DESC LIMIT ?
            """,
            (task_id, limit),
        )
        return [moment(row[0]) for row in rows]

    def run_times(self, task_id: str, *, since: datetime) -> list[tuple[datetime, datetime | None]]:
        rows = self.db.read(
            f"""
            SELECT started_at, completed_at FROM runs
            WHERE task = {_SEQ} AND started_at IS NOT NULL AND (completed_at IS NULL OR completed_at >= ?)
            ORDER BY number DESC
            """,
            (task_id, micros(since)),
        )
        return [(moment(started), maybe_moment(completed)) for started, completed in rows]

    def forget_signals(self, *, before: datetime) -> None:
        self.db.write("DELETE FROM signals WHERE run IS NOT NULL AND at < ?", (micros(before),))

    def _signals(self, where: str, *values: Any) -> list[Signal]:
        rows = self.db.read(
            f"SELECT {_SIGNAL.columns} FROM signals JOIN tasks ON tasks.seq = signals.task WHERE {where}",
            values,
        )
        return [_SIGNAL.read(row) for row in rows]

    def _watches(self, where: str, *values: Any) -> list[Watch]:
        rows = self.db.read(
            f"SELECT {_WATCH.columns} FROM watches CROSS JOIN tasks ON tasks.seq = watches.task {where}",
            values,
        )
        return [_WATCH.read(row) for row in rows]
