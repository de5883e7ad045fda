"""Spans: the few questions that only traces ask. Nothing is written for them before one is asked."""

from __future__ import annotations

from errands.stores.sqlite.columns import micros, moment
from errands.stores.sqlite.table import Table, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from errands.ports.spans import Traced

_MANY = 5000  # runs in one transaction


class SpanRows(Table):
    def launched_by(self, run_id: str) -> list[str]:
        """Name the tasks that a run has launched, oldest first."""
        rows = self.db.read(
            """
            SELECT id FROM tasks INDEXED BY tasks_by_run
            WHERE created_by = ? AND created_by >= 'run ' AND created_by < 'run!' ORDER BY seq
            """,
            (f"run {run_id}",),
        )
        return [row[0] for row in rows]

    def run_with_span(self, prefix: str, ids: Callable[[str, datetime], Sequence[str]]) -> str | None:
        """Find a run by the beginning of a span's id; `ids` tells those of a run.

        They are written down when somebody looks: for every run once, and never for whoever does not look.
        """
        while self._index(ids):
            pass
        rows = self.db.read(
            """
            SELECT tasks.id, runs.number
            FROM spans JOIN runs ON runs.seq = spans.run JOIN tasks ON tasks.seq = runs.task
            WHERE spans.id >= ? AND spans.id < ? ORDER BY runs.seq DESC LIMIT 1
            """,
            (prefix, prefix + "g"),
        )
        return f"{rows[0][0]}.{rows[0][1]}" if rows else None

    def _index(self, ids: Callable[[str, datetime], Sequence[str]]) -> bool:
        """Write down the spans of the next runs; tell whether there may be more."""
        with self.db:
            rows = self.db.read(
                """
                SELECT runs.seq, tasks.id, runs.number, runs.created_at
                FROM runs JOIN tasks ON tasks.seq = runs.task
                WHERE runs.seq > (SELECT coalesce(max(run), 0) FROM spans) ORDER BY runs.seq LIMIT ?
                """,
                (_MANY,),
            )
            self.db.write_all(
                "INSERT OR IGNORE INTO spans (id, run) VALUES (?, ?)",
                [
                    (each, seq)
                    for seq, task, number, at in rows
                    for each in ids(f"{task}.{number}", moment(at))
                ],
            )
        return len(rows) == _MANY

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
