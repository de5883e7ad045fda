"""Retention: what is past its time. Only the janitor asks."""

from __future__ import annotations

from errands.stores.sqlite.columns import micros
from errands.stores.sqlite.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime


class RetentionRows(Table):
    def expired_tasks(self, *, before: datetime, limit: int) -> list[str]:
        rows = self.db.read(
            """
            SELECT tasks.id
            FROM runs INDEXED BY runs_ended
            CROSS JOIN tasks ON tasks.seq = runs.task AND tasks.run = runs.seq
            WHERE runs.completed_at < ?
              AND (tasks.standing IS NULL OR tasks.state NOT IN ('proposed', 'active', 'paused'))
              AND (tasks.parent IN (SELECT name FROM ended_sessions)
                   OR (tasks.parent IS NULL AND tasks.kind <> 'agent'))
              AND NOT EXISTS (SELECT 1 FROM waits WHERE waits.on_task = tasks.seq)
            ORDER BY runs.completed_at LIMIT ?
            """,
            (micros(before), limit),
        )
        # A standing task may end before its first run.
        rows += self.db.read(
            """
            SELECT id FROM tasks
            WHERE standing IS NOT NULL AND state NOT IN ('proposed', 'active', 'paused') AND run IS NULL
              AND updated_at < ?
            LIMIT ?
            """,
            (micros(before), limit - len(rows)),
        )
        return [row[0] for row in rows]

    def superseded_runs(self, *, before: datetime, limit: int) -> list[str]:
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
