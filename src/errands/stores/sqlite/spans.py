"""Spans: the few questions that only traces ask. Nothing is written for them."""

from __future__ import annotations

from errands.stores.sqlite.rows import micros, moment
from errands.stores.sqlite.table import Table, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from errands.ports.spans import Traced

_MANY = 1000


class SpanRows(Table):
    def launched_by(self, run_id: str) -> list[str]:
        """Name the tasks that a run has launched, oldest first."""
        rows = self.db.read("SELECT id FROM tasks WHERE created_by = ? ORDER BY seq", (f"run {run_id}",))
        return [row[0] for row in rows]

    def every_run(self) -> Iterator[tuple[str, datetime]]:
        """Give the id of every run and when it was made, newest first."""
        place = None
        while True:
            rows = self.db.read(
                """
                SELECT runs.seq, tasks.id, runs.number, runs.created_at
                FROM runs JOIN tasks ON tasks.seq = runs.task
                WHERE runs.seq < coalesce(?, 9223372036854775807) ORDER BY runs.seq DESC LIMIT ?
                """,
                (place, _MANY),
            )
            yield from ((f"{row[1]}.{row[2]}", moment(row[3])) for row in rows)
            if len(rows) < _MANY:
                return
            place = rows[-1][0]

    def traced(self, *, after: int, among: Sequence[int], limit: int) -> list[Traced]:
        """Give the runs after a place and those at certain places, in order."""
        rows = self.db.read(
            f"""
            SELECT runs.seq, tasks.id, runs.number, runs.completed_at IS NOT NULL, runs.created_at
            FROM runs JOIN tasks ON tasks.seq = runs.task
            WHERE runs.seq IN ({marks(among)}) OR runs.seq IN
                (SELECT seq FROM runs WHERE seq > ? ORDER BY seq LIMIT ?)
            ORDER BY runs.seq
            """,
            (*among, after, limit),
        )
        return [
            (int(seq), f"{task}.{number}", bool(ended), moment(at)) for seq, task, number, ended, at in rows
        ]

    def last_place(self) -> int:
        """Give the place of the newest run."""
        return int(self.db.read("SELECT coalesce(max(seq), 0) FROM runs")[0][0])

    def place_at(self, time: datetime) -> int:
        """Give the place of the newest run that was made by then."""
        rows = self.db.read("SELECT coalesce(max(seq), 0) FROM runs WHERE created_at <= ?", (micros(time),))
        return int(rows[0][0])

    def live_places(self) -> list[int]:
        """Give the places of the runs that have not ended."""
        rows = self.db.read("SELECT seq FROM runs WHERE state IN ('pending', 'running') ORDER BY seq")
        return [row[0] for row in rows]
