"""What the modules of the store share: the connection, and looking up a row."""

from __future__ import annotations

from errands.model.errors import unknown_task
from errands.model.run import task_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from errands.stores.sqlite.connection import Connection

# A task may be given more runs until it has ended.
OPEN_TASK = "'proposed', 'active', 'paused'"
FROM_RUN = "tasks.created_by >= 'run ' AND tasks.created_by < 'run!'"
# A command that an agent's run has run itself: its key is that run and the call, and its parent the agent's
# session; what the agent of a conversation starts in the background belongs to the owner (`View.agent_task`).
OF_AGENT = (
    f"{FROM_RUN} AND tasks.key IS NOT NULL AND tasks.parent IS NOT tasks.owner "
    "AND substr(tasks.key, 1, length(tasks.created_by) - 3) = substr(tasks.created_by, 5) || ':'"
)


class Table:
    def __init__(self, connection: Connection, runs_dir: str) -> None:
        self.db = connection
        self.runs_dir = runs_dir

    def one(self, sql: str, task_id: str, *values: Any) -> tuple[Any, ...]:
        """Read the one row that belongs to a task."""
        rows = self.db.read(sql, (task_id, *values))
        if not rows:
            raise unknown_task(task_id)
        row: tuple[Any, ...] = rows[0]
        return row

    def changed(self, sql: str, values: Sequence[Any] = ()) -> bool:
        """Run an UPDATE or DELETE; return whether it found a row in the state it expects."""
        return bool(self.db.write(sql, values).rowcount)

    def first_column(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return [row[0] for row in self.db.read(sql, values)]

    def task_seq(self, task_id: str) -> int:
        return int(self.one("SELECT seq FROM tasks WHERE id = ?", task_id)[0])

    def run_seq(self, run_id: str) -> int:
        task_id, number = task_of(run_id)
        sql = """
            SELECT runs.seq FROM tasks JOIN runs ON runs.task = tasks.seq
            WHERE tasks.id = ? AND runs.number = ?
        """
        return int(self.one(sql, task_id, number)[0])


def marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
