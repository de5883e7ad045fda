"""Schedules: the cursors of recurring tasks, what became of every slot, and the events they wait for."""

from __future__ import annotations

from errands.model.codec import RowCodec
from errands.model.errors import StoreUnreadable
from errands.model.schedule.cursor import ScheduleCursor
from errands.model.schedule.slot_record import Slot
from errands.model.schedule.watch import Signal, Watch
from errands.model.text.json_text import utf8
from errands.stores.sqlite.columns import (
    TASK,
    TEXT,
    TYPES,
    maybe_micros,
    maybe_moment,
    micros,
    moment,
    standing_text,
    task_from,
)
from errands.stores.sqlite.table import Table, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from errands.model.schedule.slot_record import SlotOutcome
    from errands.model.task import Task

_CURSOR = RowCodec(ScheduleCursor, "hearings", TYPES, columns={"processed_until": "heard"})
SLOT = RowCodec(Slot, "slots", TYPES)
_WATCH = RowCodec(Watch, "watches", TYPES, columns={"task_id": "tasks.id"}, error=TEXT)
_SIGNAL = RowCodec(Signal, "signals", TYPES, columns={"id": "seq", "task_id": "tasks.id"})
_SEQ = "(SELECT seq FROM tasks WHERE id = ?)"


class ScheduleRows(Table):
    def cursor(self, task_id: str) -> ScheduleCursor | None:
        rows = self.db.read(f"SELECT {_CURSOR.columns} FROM hearings WHERE task = {_SEQ}", (task_id,))
        return _CURSOR.read(rows[0]) if rows else None

    def due_schedules(self, *, now: datetime, limit: int) -> list[tuple[Task, ScheduleCursor, bool]]:
        rows = self.db.read(
            f"""
            SELECT {TASK.columns}, {_CURSOR.columns},
                   EXISTS (SELECT 1 FROM runs INDEXED BY one_live_run
                           WHERE runs.task = tasks.seq AND runs.state IN ('pending', 'running'))
            FROM hearings JOIN tasks ON tasks.seq = hearings.task
            WHERE hearings.next_at <= ? ORDER BY hearings.next_at LIMIT ?
            """,
            (micros(now), limit),
        )
        found = []
        for row in rows:
            try:
                task = task_from(row[: TASK.width])
            except StoreUnreadable:
                # One damaged record must not keep the others from firing; `doctor` names it.
                self.db.write(f"UPDATE hearings SET next_at = NULL WHERE task = {_SEQ}", (row[0],))
                continue
            found.append((task, _CURSOR.read(row[TASK.width : -1]), bool(row[-1])))
        return found

    def schedules_ahead(self, now: datetime) -> list[tuple[Task, ScheduleCursor]]:
        rows = self.db.read(
            f"""
            SELECT {TASK.columns}, {_CURSOR.columns} FROM hearings JOIN tasks ON tasks.seq = hearings.task
            WHERE hearings.heard > ? AND hearings.next_at IS NOT NULL
            """,
            (micros(now),),
        )
        return [(task_from(row[: TASK.width]), _CURSOR.read(row[TASK.width :])) for row in rows]

    def advance(
        self, task_id: str, *, since: datetime, until: datetime, next_at: datetime | None, runs: int = 0
    ) -> bool:
        return self.changed(
            f"""
            UPDATE hearings SET heard = ?, next_at = ?, runs = runs + ?
            WHERE task = {_SEQ} AND heard = ?
            """,
            (micros(until), maybe_micros(next_at), runs, task_id, micros(since)),
        )

    def set_trigger(self, task: Task) -> None:
        self.db.write(
            "UPDATE tasks SET standing = ? WHERE id = ? AND standing IS NOT NULL AND state = 'active'",
            (standing_text(task.trigger), task.id),
        )

    def set_next_fire(self, task_id: str, next_at: datetime | None) -> None:
        self.db.write(
            f"UPDATE hearings SET next_at = ? WHERE task = {_SEQ}", (maybe_micros(next_at), task_id)
        )

    def note_result(self, task_id: str, *, failures: int, result: str | None) -> None:
        self.db.write(
            f"UPDATE hearings SET failures = ?, result = ? WHERE task = {_SEQ}", (failures, result, task_id)
        )

    def count_recurring(self, states: Sequence[str]) -> int:
        sql = f"SELECT count(*) FROM tasks WHERE standing IS NOT NULL AND state IN ({marks(states)})"
        return int(self.db.read(sql, states)[0][0])

    # Slots.

    def add_slots(self, task_id: str, slots: Sequence[Slot]) -> None:
        seq = self.task_seq(task_id)
        for each in slots:
            values = SLOT.write(each)
            self.db.write(
                f"""
                INSERT INTO slots (task, {SLOT.written_columns}) VALUES (?, {marks(values)})
                ON CONFLICT (task, slot)
                DO UPDATE SET outcome = excluded.outcome, run = excluded.run, at = excluded.at
                WHERE slots.outcome = 'waiting'
                """,
                (seq, *values),
            )

    def slots(self, task_id: str, *, limit: int = -1, after: datetime | None = None) -> list[Slot]:
        seq = self.task_seq(task_id)
        least = -(1 << 62) if after is None else micros(after)
        # Records follow each other: of those that begin before a time only the last can reach beyond it.
        rows = self.db.read(
            f"""
            SELECT {SLOT.columns} FROM slots
            WHERE task = :task AND until > :least
              AND slot >= coalesce(
                  (SELECT max(slot) FROM slots WHERE task = :task AND slot <= :least), :least)
            ORDER BY slot DESC LIMIT :limit
            """,
            {"task": seq, "least": least, "limit": limit},
        )
        return [SLOT.read(row) for row in rows]

    def waiting_slots(self, task_id: str) -> list[datetime]:
        rows = self.db.read(
            f"SELECT slot FROM slots WHERE task = {_SEQ} AND outcome = 'waiting' ORDER BY slot", (task_id,)
        )
        return [moment(row[0]) for row in rows]

    def close_slots(self, task_id: str, outcome: SlotOutcome, reason: str, *, run: int | None = None) -> None:
        chosen, values = (
            ("outcome = 'waiting'", ()) if run is None else ("run = ? AND outcome IN ('ran', 'late')", (run,))
        )
        self.db.write(
            f"UPDATE slots SET outcome = ?, reason = ? WHERE task = {_SEQ} AND {chosen}",
            (outcome, reason, task_id, *values),
        )

    def trim_slot(self, task_id: str, slot: Slot, kept: Slot | None) -> None:
        place = f"WHERE task = {_SEQ} AND slot = ?"
        if kept is None:
            self.db.write(f"DELETE FROM slots {place}", (task_id, micros(slot.slot)))
        else:
            self.db.write(
                f"UPDATE slots SET until = ?, count = ? {place}",
                (micros(kept.until), kept.count, task_id, micros(slot.slot)),
            )

    # Events.

    def save_watch(self, watch: Watch, *, has_new_baseline: bool = True) -> None:
        columns = _WATCH.written_columns.split(", ")
        kept = [f"{name} = excluded.{name}" for name in columns if has_new_baseline or name != "baseline"]
        values = (self.task_seq(watch.task_id), *_WATCH.write(watch))
        self.db.write(
            f"""
            INSERT INTO watches (task, {_WATCH.written_columns}) VALUES ({marks(values)})
            ON CONFLICT (task) DO UPDATE SET {", ".join(kept)}
            """,
            values,
        )

    def watch(self, task_id: str) -> Watch | None:
        found = self._watches(f"WHERE watches.task = {_SEQ}", task_id)
        return found[0] if found else None

    def watches(self) -> list[Watch]:
        return self._watches("WHERE tasks.state = 'active' ORDER BY watches.task")

    def watched_tasks(self) -> list[str]:
        # CROSS JOIN keeps the order: there are few watches, and tasks by the million.
        return self.first_column(
            """
            SELECT tasks.id FROM watches CROSS JOIN tasks ON tasks.seq = watches.task
            WHERE tasks.state = 'active'
            """
        )

    def add_signal(
        self, task_id: str, body: str, *, now: datetime, key: str | None = None, run: int | None = None
    ) -> datetime | None:
        seq = self.task_seq(task_id)
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
