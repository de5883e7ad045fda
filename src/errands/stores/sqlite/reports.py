"""What views and metrics read: what changed, rows of lists, and totals."""

from __future__ import annotations

from errands.stores.sqlite.table import Table


class ReportRows(Table):
    def data_version(self) -> tuple[int, int]:
        return int(self.db.read("PRAGMA data_version")[0][0]), self.db.own_changes

    def running_ids(self) -> list[str]:
        return self.first_column(
            """
            SELECT tasks.id || '.' || runs.number
            FROM runs INDEXED BY one_live_run JOIN tasks ON tasks.seq = runs.task
            WHERE runs.state IN ('pending', 'running') AND runs.state = 'running'
            """
        )
