"""Retention and traces: removing what is old, and finding the runs of a trace.

Nothing is written for traces until a span is looked up.
"""

from __future__ import annotations

from errands.model.run import task_of
from errands.stores.sqlite.columns import micros, moment
from errands.stores.sqlite.table import FROM_RUN, OF_AGENT, Table, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from errands.ports.store.retention import Traced

_MANY = 5000  # runs in one transaction


class RetentionRows(Table):
    def remove(self, task_ids: Sequence[str], *, now: datetime) -> list[str]:
        removed: list[str] = []
        for task_id in task_ids:
            rows = self.db.read(
                """
                SELECT tasks.seq, runs.number, runs.state IN ('pending', 'running')
                FROM tasks LEFT JOIN runs ON runs.task = tasks.seq WHERE tasks.id = ?
                """,
                (task_id,),
            )
            if not rows or any(live for _, _, live in rows):
                continue
            seq, runs = rows[0][0], [f"{task_id}.{number}" for _, number, _ in rows if number is not None]
            commands = [each for run_id in runs for each in self._commands_of(run_id)]
            self._keep_answers(seq, now)
            self._orphan_sessions(seq)
            # What else an agent has started belongs to its session, which ends with it.
            self.db.write(
                """
                UPDATE parent_sessions SET ended_at = ?
                WHERE name IN (SELECT name FROM sessions WHERE task = ?) AND ended_at IS NULL
                """,
                (micros(now), seq),
            )
            self.db.write("DELETE FROM tasks WHERE seq = ?", (seq,))
            removed += runs + self.remove(commands, now=now)
        return removed

    def _commands_of(self, run_id: str) -> list[str]:
        """Return the ids of the commands that an agent's run has run itself."""
        return self.first_column(
            f"""
            SELECT id FROM tasks INDEXED BY tasks_by_run
            WHERE created_by = ? AND {OF_AGENT} ORDER BY seq
            """,
            (f"run {run_id}",),
        )

    def remove_runs(self, run_ids: Sequence[str]) -> None:
        for task_id, number in map(task_of, run_ids):
            self._orphan_sessions(self.task_seq(task_id), run=number)
        self.db.write_all(
            "DELETE FROM sessions WHERE task = (SELECT seq FROM tasks WHERE id = ?) AND run = ?",
            [task_of(each) for each in run_ids],
        )
        self.db.write_all("DELETE FROM runs WHERE seq = ?", [(self.run_seq(each),) for each in run_ids])

    def _keep_answers(self, seq: int, now: datetime) -> None:
        if not self.db.read("SELECT 1 FROM approvals WHERE task = ? LIMIT 1", (seq,)):
            return
        from errands.stores.sqlite.approvals import KEEP_ANSWERS

        self.db.write(KEEP_ANSWERS, (micros(now), seq))

    def _orphan_sessions(self, task: int, *, run: int | None = None) -> None:
        """Remember the sessions of a task, or of one of its runs, that live on at a backend."""
        self.db.write(
            """
            INSERT INTO remnants (agent, name, cwd)
            SELECT sessions.agent, sessions.name, tasks.cwd
            FROM sessions JOIN tasks ON tasks.seq = sessions.task
            WHERE tasks.seq = ? AND sessions.run = coalesce(?, sessions.run) AND sessions.gone_at IS NULL
              AND sessions.run > 0
              AND sessions.name <> 'task:' || tasks.id  -- a backend that keeps them itself has its own names
              AND sessions.name NOT LIKE 'fleet:%'  -- another host has it
            """,
            (task, run),
        )

    def expired_tasks(self, *, before: datetime, limit: int) -> list[str]:
        rows = self.db.read(
            """
            SELECT tasks.id
            FROM runs INDEXED BY runs_ended
            CROSS JOIN tasks ON tasks.seq = runs.task AND tasks.run = runs.seq
            WHERE runs.completed_at < ?1
              AND (tasks.standing IS NULL OR tasks.state NOT IN ('proposed', 'active', 'paused'))
              AND (tasks.parent IS NULL
                   OR iif(EXISTS (SELECT 1 FROM sessions WHERE sessions.name = tasks.parent),
                          NOT EXISTS (
                              SELECT 1 FROM tasks AS agents JOIN runs AS latest ON latest.seq = agents.run
                              WHERE agents.id = rtrim(rtrim(substr(tasks.created_by, 5), '0123456789'), '.')
                                AND tasks.created_by = 'run ' || agents.id || '.' || latest.number),
                          NOT EXISTS (
                              SELECT 1 FROM parent_sessions
                              WHERE name = tasks.parent AND ended_at IS NULL AND seen_at >= ?1)))
              AND NOT EXISTS (SELECT 1 FROM waits WHERE waits.on_task = tasks.seq)
            ORDER BY runs.completed_at LIMIT ?2
            """,
            (micros(before), limit),
        )
        # A recurring task may end before its first run.
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
        return self.first_column(
            """
            SELECT tasks.id || '.' || runs.number FROM runs JOIN tasks ON tasks.seq = runs.task
            WHERE runs.completed_at < ? AND tasks.run <> runs.seq
              AND runs.number < coalesce(
                  (SELECT max(sessions.run) FROM sessions WHERE sessions.task = tasks.seq), runs.number + 1)
            ORDER BY runs.completed_at LIMIT ?
            """,
            (micros(before), limit),
        )

    def directories(self) -> list[str]:
        return self.first_column("SELECT DISTINCT cwd FROM tasks ORDER BY cwd")

    def purge(self, *, before: datetime, history_before: datetime) -> None:
        old, history = micros(before), micros(history_before)
        # The newest notice stays, so that no number is used twice: receivers tell notices apart by it.
        self.db.write(
            """
            DELETE FROM outbox
            WHERE (state = 'delivered' AND delivered_at < ?
                   OR state IN ('unknown', 'dead') AND created_at < ?)
              AND id < (SELECT max(id) FROM outbox)
            """,
            (old, old),
        )
        # What its owner never read goes with the run that it is about.
        self.db.write(
            """
            DELETE FROM outbox
            WHERE state = 'waiting' AND channel = 'inbox' AND created_at < ?
              AND NOT EXISTS (
                  SELECT 1 FROM tasks JOIN runs ON runs.task = tasks.seq
                  WHERE tasks.id = substr(outbox.run_id, 1, instr(outbox.run_id, '.') - 1)
                    AND runs.number = CAST(substr(outbox.run_id, instr(outbox.run_id, '.') + 1) AS INTEGER))
              AND id < (SELECT max(id) FROM outbox)
            """,
            (old,),
        )
        self.db.write("DELETE FROM refusals WHERE at < ?", (old,))
        self.db.write("DELETE FROM past_approvals WHERE removed_at < ?", (history,))
        self.db.write("DELETE FROM slots WHERE until < ? AND outcome <> 'waiting'", (history,))
        self.db.write("DELETE FROM signals WHERE run IS NOT NULL AND at < ?", (history,))
        self.db.write(
            """
            DELETE FROM environments
            WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.environment = environments.digest)
            """
        )
        self.db.write(
            """
            DELETE FROM parent_sessions
            WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.parent = parent_sessions.name)
            """
        )

    # Traces.

    def launched_by(self, run_id: str) -> list[str]:
        return self.first_column(
            f"SELECT id FROM tasks INDEXED BY tasks_by_run WHERE created_by = ? AND {FROM_RUN} ORDER BY seq",
            (f"run {run_id}",),
        )

    def run_with_span(self, prefix: str, ids: Callable[[str, datetime], Sequence[str]]) -> str | None:
        # The ids are written when the first one is looked up: most stores never need them.
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
        """Write the span ids of the next runs; return whether there may be more."""
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

    def last_place(self, *, by: datetime | None = None) -> int:
        where, values = ("", ()) if by is None else ("WHERE created_at <= ?", (micros(by),))
        return int(self.db.read(f"SELECT coalesce(max(seq), 0) FROM runs {where}", values)[0][0])

    def live_places(self) -> list[int]:
        return self.first_column("SELECT seq FROM runs WHERE state IN ('pending', 'running') ORDER BY seq")
