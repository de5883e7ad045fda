"""The queue: which runs are held or paused, their order in a lane, and the widths of lanes."""

from __future__ import annotations

from errands.model.task import PRIORITIES
from errands.stores.sqlite.columns import TASK, maybe_micros, micros
from errands.stores.sqlite.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.model.states import RunState
    from errands.model.task import Task

# What an edit leaves as it is: whose task it is, and where it came from.
_KEPT = ("id", "kind", "owner", "parent", "message", "key", "template", "created_at", "created_by")
_EDITED = tuple(column for column in TASK.written_columns.split(", ") if column not in _KEPT)


class QueueRows(Table):
    def pause_run(self, run_id: str, *, state: RunState, by: str, now: datetime) -> bool:
        return self.changed(
            """
            UPDATE runs SET paused_at = ?, paused_by = ?
            WHERE seq = ? AND state = ? AND paused_at IS NULL AND stop_requested_at IS NULL
            """,
            (micros(now), by, self.run_seq(run_id), state),
        )

    def unpause_run(self, run_id: str, *, state: RunState, now: datetime) -> bool:
        return self.changed(
            """
            UPDATE runs
            SET paused_for = paused_for + iif(state = 'running', max(0, ? - paused_at) / 1e6, 0),
                paused_at = NULL, paused_by = NULL
            WHERE seq = ? AND state = ? AND paused_at IS NOT NULL
            """,
            (micros(now), self.run_seq(run_id), state),
        )

    def paused_runs(self) -> list[str]:
        return self.first_column(
            """
            SELECT tasks.id || '.' || runs.number FROM runs JOIN tasks ON tasks.seq = runs.task
            WHERE runs.state = 'running' AND runs.paused_at IS NOT NULL AND runs.stop_requested_at IS NULL
            """
        )

    def lane_order(self, lane: str) -> list[str]:
        return self.first_column(
            """
            SELECT tasks.id || '.' || runs.number
            FROM runs INDEXED BY one_live_run JOIN tasks ON tasks.seq = runs.task
            WHERE runs.state IN ('pending', 'running') AND runs.state = 'pending' AND runs.lane = ?
            ORDER BY runs.priority, coalesce(runs.place, runs.seq)
            """,
            (lane,),
        )

    def lane_place(self, run_id: str) -> tuple[int, int] | None:
        # The order of `lane_order`, counted without reading the tasks.
        rows = self.db.read(
            """
            SELECT count(*), sum((runs.priority, coalesce(runs.place, runs.seq))
                                 <= (own.priority, coalesce(own.place, own.seq)))
            FROM runs AS own CROSS JOIN runs INDEXED BY one_live_run ON runs.lane = own.lane
            WHERE own.seq = ? AND own.state = 'pending'
              AND runs.state IN ('pending', 'running') AND runs.state = 'pending'
            """,
            (self.run_seq(run_id),),
        )
        count, place = rows[0]
        return (place, count) if count else None

    def move_run(self, run_id: str, *, before: str | None) -> bool:
        seq = self.run_seq(run_id)
        rows = self.db.read("SELECT lane FROM runs WHERE seq = ? AND state = 'pending'", (seq,))
        if not rows:
            return False
        (lane,) = rows[0]
        queue: list[tuple[int, int, int]] = self.db.read(
            """
            SELECT priority, coalesce(place, seq), seq FROM runs INDEXED BY one_live_run
            WHERE state IN ('pending', 'running') AND state = 'pending' AND lane = ?
            ORDER BY priority, coalesce(place, seq)
            """,
            (lane,),
        )
        others = [row for row in queue if row[2] != seq]
        at = len(others)
        if before is not None:
            next_seq = self.run_seq(before)
            found = [index for index, row in enumerate(others) if row[2] == next_seq]
            if not found:
                return False
            at = found[0]
        if not others:
            return True
        # It takes the priority of its new neighbour. Those of one priority share their places in a new order,
        # so no place is used twice, and runs that are queued later still come after all of them.
        priority = others[min(at, len(others) - 1)][0]
        moved = next(row for row in queue if row[2] == seq)
        order = [*others[:at], (priority, moved[1], seq), *others[at:]]
        peers = [row for row in order if row[0] == priority]
        for place, (_, old, peer) in zip(sorted(row[1] for row in peers), peers, strict=True):
            if place != old or peer == seq:
                self.db.write(
                    "UPDATE runs SET place = ?, priority = ? WHERE seq = ? AND state = 'pending'",
                    (place, priority, peer),
                )
        return True

    def replace_task(
        self, task: Task, *, run: int, since: datetime, not_before: datetime | None, now: datetime
    ) -> bool:
        rows = self._edit(
            task,
            "'active', 'proposed'",
            """
            EXISTS
                (SELECT 1 FROM runs WHERE runs.seq = tasks.run AND runs.state = 'pending' AND number = ?)
            """,
            (run,),
            since=since,
            now=now,
        )
        for seq, run_seq in rows:
            self._edit_pending(task, run_seq)
            self.db.write(
                "UPDATE runs SET not_before = ? WHERE seq = ? AND state = 'pending'",
                (maybe_micros(not_before), run_seq),
            )
            # A question, or an answer, is about what the task was before.
            self.db.write(
                """
                UPDATE approvals SET state = 'void', at = coalesce(at, ?), note = 'the task was edited'
                WHERE task = ? AND run = ? AND state IN ('waiting', 'granted')
                """,
                (micros(now), seq, run),
            )
        return bool(rows)

    def replace_recurring(self, task: Task, *, since: datetime, now: datetime) -> bool:
        rows = self._edit(
            task,
            "'active', 'paused', 'proposed'",
            """
            standing IS NOT NULL AND NOT EXISTS
                (SELECT 1 FROM runs WHERE runs.seq = tasks.run AND runs.state = 'running')
            """,
            (),
            since=since,
            now=now,
        )
        for seq, run_seq in rows:
            self._edit_pending(task, run_seq)
            self.db.write(
                """
                UPDATE approvals SET state = 'void', at = coalesce(at, ?), note = 'the task was edited'
                WHERE task = ? AND state = 'waiting'
                """,
                (micros(now), seq),
            )
        return bool(rows)

    def _edit(
        self, task: Task, states: str, where: str, values: tuple[int, ...], *, since: datetime, now: datetime
    ) -> list[tuple[int, int | None]]:
        """Write a task that is in one of these states and has not changed since.

        Return its row and that of its latest run.
        """
        new = dict(zip(TASK.written_columns.split(", "), TASK.write(task), strict=True))
        new["updated_at"] = micros(now)
        return self.db.write(
            f"""
            UPDATE tasks SET {", ".join(f"{column} = ?" for column in _EDITED)}
            WHERE id = ? AND updated_at = ? AND state IN ({states}) AND {where}
            RETURNING seq, run
            """,
            (*(new[column] for column in _EDITED), task.id, micros(since), *values),
        ).fetchall()

    def _edit_pending(self, task: Task, run_seq: int | None) -> None:
        """Adapt the pending run of an edited task, if there is one."""
        self.db.write(
            """
            UPDATE runs SET lane = ?, priority = iif(lane = ? AND place IS NOT NULL, priority, ?),
                            place = iif(lane = ?, place, NULL), held = ?
            WHERE seq = ? AND state = 'pending'
            """,
            (
                task.lane, task.lane, PRIORITIES.index(task.priority), task.lane,
                int(task.state == "proposed"), run_seq,
            ),
        )  # fmt: skip
        if task.kind == "agent":  # a caller that blocks has written down what it asked
            self.db.write(
                """
                UPDATE exchanges SET text = ?
                WHERE run = (SELECT seq FROM runs WHERE seq = ? AND state = 'pending')
                """,
                (task.action.line, run_seq),
            )

    def set_lane(self, name: str, width: int, *, by: str, now: datetime) -> None:
        self.db.write("INSERT OR REPLACE INTO lanes VALUES (?, ?, ?, ?)", (name, width, by, micros(now)))

    def unset_lane(self, name: str) -> bool:
        return self.changed("DELETE FROM lanes WHERE name = ?", (name,))
