"""Hearings: how far the triggers of standing tasks have heard, and what became of every slot."""

from __future__ import annotations

from errands.model.codec import RowCodec
from errands.model.errors import StoreUnreadable
from errands.model.schedule.cursor import ScheduleCursor
from errands.model.schedule.slot_record import Slot
from errands.model.states import TASK_MOVES, task_after
from errands.stores.sqlite.columns import TASK, TYPES, maybe_micros, micros, moment, task_from
from errands.stores.sqlite.table import Table, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from errands.model.schedule.slot_record import SlotOutcome
    from errands.model.states import TaskState
    from errands.model.task import Task

_CURSOR = RowCodec(ScheduleCursor, "hearings", TYPES)
_SLOT = RowCodec(Slot, "slots", TYPES)
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
                # One damaged record must not keep the others from being heard; `doctor` names it.
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
        return bool(
            self.db.write(
                f"""
                UPDATE hearings SET heard = ?, next_at = ?, runs = runs + ?
                WHERE task = {_SEQ} AND heard = ?
                """,
                (micros(until), maybe_micros(next_at), runs, task_id, micros(since)),
            ).rowcount
        )

    def set_next_fire(self, task_id: str, next_at: datetime | None) -> None:
        self.db.write(
            f"UPDATE hearings SET next_at = ? WHERE task = {_SEQ}", (maybe_micros(next_at), task_id)
        )

    def count_run(self, task_id: str) -> None:
        self.db.write(f"UPDATE hearings SET runs = runs + 1 WHERE task = {_SEQ}", (task_id,))

    def note_result(self, task_id: str, *, failures: int, result: str | None) -> None:
        self.db.write(
            f"UPDATE hearings SET failures = ?, result = ? WHERE task = {_SEQ}", (failures, result, task_id)
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

    def count_recurring(self, states: Sequence[str]) -> int:
        sql = f"SELECT count(*) FROM tasks WHERE standing IS NOT NULL AND state IN ({marks(states)})"
        return int(self.db.read(sql, states)[0][0])

    def start_now(self, run_id: str) -> bool:
        return bool(
            self.db.write(
                """
                UPDATE runs SET not_before = NULL
                WHERE seq = ? AND state = 'pending' AND not_before IS NOT NULL
                """,
                (self.run_seq(run_id),),
            ).rowcount
        )

    # Slots.

    def add_slots(self, task_id: str, slots: Sequence[Slot]) -> None:
        (seq,) = self.one("SELECT seq FROM tasks WHERE id = ?", task_id)
        for each in slots:
            values = _SLOT.write(each)
            self.db.write(
                f"""
                INSERT INTO slots (task, {_SLOT.written_columns}) VALUES (?, {marks(values)})
                ON CONFLICT (task, slot)
                DO UPDATE SET outcome = excluded.outcome, run = excluded.run, at = excluded.at
                WHERE slots.outcome = 'waiting'
                """,
                (seq, *values),
            )

    def slots(self, task_id: str, *, limit: int = -1, after: datetime | None = None) -> list[Slot]:
        (seq,) = self.one("SELECT seq FROM tasks WHERE id = ?", task_id)
        least = -(1 << 62) if after is None else micros(after)
        # Records follow each other: of those that begin before a time only the last can reach beyond it.
        rows = self.db.read(
            f"""
            SELECT {_SLOT.columns} FROM slots
            WHERE task = :task AND until > :least
              AND slot >= coalesce(
                  (SELECT max(slot) FROM slots WHERE task = :task AND slot <= :least), :least)
            ORDER BY slot DESC LIMIT :limit
            """,
            {"task": seq, "least": least, "limit": limit},
        )
        return [_SLOT.read(row) for row in rows]

    def waiting_slots(self, task_id: str) -> list[datetime]:
        rows = self.db.read(
            f"SELECT slot FROM slots WHERE task = {_SEQ} AND outcome = 'waiting' ORDER BY slot", (task_id,)
        )
        return [moment(row[0]) for row in rows]

    def reword_slot(self, task_id: str, run: int, outcome: SlotOutcome, reason: str) -> None:
        self.db.write(
            f"""
            UPDATE slots SET outcome = ?, reason = ?
            WHERE task = {_SEQ} AND run = ? AND outcome IN ('ran', 'late')
            """,
            (outcome, reason, task_id, run),
        )

    def drop_waiting(self, task_id: str, reason: str) -> None:
        self.db.write(
            f"UPDATE slots SET outcome = 'missed', reason = ? WHERE task = {_SEQ} AND outcome = 'waiting'",
            (reason, task_id),
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

    def forget_slots(self, *, before: datetime) -> None:
        self.db.write("DELETE FROM slots WHERE until < ? AND outcome <> 'waiting'", (micros(before),))
