"""Notices: the outbox, written with the state it tells of.

The inbox is that part of it which nobody sends: it waits until its owner asks, and is handed over once.
"""

from __future__ import annotations

from errands.model.notice import LONGEST_BACKOFF, Address, Notice
from errands.stores.sqlite.rows import maybe_micros, micros, moment
from errands.stores.sqlite.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

_OUTBOX = "id, run_id, event, channel, target, body, created_at, attempts, state, error"
_UNREAD = "WHERE state = 'waiting' AND channel = 'inbox'"
_SENT = "state = 'waiting' AND channel <> 'inbox'"
# A time further off than any back-off was set by a clock that has been put back since.
_DUE = "(next_at <= ? OR next_at > ?)"


class NoticeRows(Table):
    def add_notice(
        self,
        run_id: str,
        event: str,
        address: Address,
        *,
        body: str,
        now: datetime,
        not_before: datetime | None = None,
    ) -> None:
        at = micros(now)
        self.db.write(
            """
            INSERT OR IGNORE INTO outbox (run_id, event, channel, target, body, created_at, next_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            (run_id, event, address.channel, address.target, body, at, maybe_micros(not_before) or 0),
        )

    def due_notices(self, channel: str, *, now: datetime, limit: int) -> list[Notice]:
        return self._outbox(
            f"WHERE {_SENT} AND channel = ? AND {_DUE} ORDER BY id LIMIT ?", channel, *_due(now), limit
        )

    def next_notice_at(self, channel: str) -> datetime | None:
        """Tell when the next waiting notice of a channel is due."""
        rows = self.db.read(
            f"SELECT next_at FROM outbox WHERE {_SENT} AND channel = ? ORDER BY next_at LIMIT 1",
            (channel,),
        )
        return moment(rows[0][0]) if rows else None

    def delivered(self, notice_ids: Sequence[int], *, now: datetime) -> None:
        self.db.write_all(
            "UPDATE outbox SET state = 'delivered', delivered_at = ? WHERE id = ? AND state = 'waiting'",
            [(micros(now), each) for each in notice_ids],
        )

    def deferred(self, notice_ids: Sequence[int], *, error: str, next_at: datetime, dead_after: int) -> None:
        self.db.write_all(
            """
            UPDATE outbox SET attempts = attempts + 1, next_at = ?, error = ?,
                              state = CASE WHEN attempts + 1 >= ? THEN 'dead' ELSE 'waiting' END
            WHERE id = ? AND state = 'waiting'
            """,
            [(micros(next_at), error, dead_after, each) for each in notice_ids],
        )

    def undelivered(self) -> list[Notice]:
        return self._outbox("WHERE state <> 'delivered' AND channel <> 'inbox' ORDER BY id LIMIT 1000")

    def take_inbox(self, owner: str, *, reader: str, now: datetime, limit: int) -> list[Notice]:
        found = self._outbox(
            f"{_UNREAD} AND target = ? AND {_DUE} ORDER BY id LIMIT ?", owner, *_due(now), limit
        )
        self.db.write_all(
            """
            UPDATE outbox SET state = 'delivered', delivered_at = ?, reader = ?
            WHERE id = ? AND state = 'waiting'
            """,
            [(micros(now), reader, each.id) for each in found],
        )
        return found

    def acknowledge(self, run_id: str, *, reader: str, now: datetime) -> None:
        self.db.write(
            """
            UPDATE outbox SET state = 'delivered', delivered_at = ?, reader = ?
            WHERE run_id = ? AND state = 'waiting'
            """,
            (micros(now), reader, run_id),
        )

    def unread(self, owner: str | None, *, now: datetime | None = None) -> list[Notice]:
        where, values = _UNREAD, list[object]()
        if owner is not None:
            where += " AND target = ?"
            values += [owner]
        if now is not None:
            where += f" AND {_DUE}"
            values += _due(now)
        return self._outbox(f"{where} ORDER BY id", *values)

    def forget_notices(self, *, before: datetime) -> int:
        # The newest stays, so that no number is ever given twice: receivers tell notices apart by it.
        return self.db.write(
            """
            DELETE FROM outbox
            WHERE state = 'delivered' AND delivered_at < ? AND id < (SELECT max(id) FROM outbox)
            """,
            (micros(before),),
        ).rowcount

    def _outbox(self, where: str, *values: Any) -> list[Notice]:
        return [
            Notice(
                id=id_,
                run_id=run_id,
                event=event,
                address=Address(channel=channel, target=target),
                body=body,
                created_at=moment(created_at),
                attempts=attempts,
                state=state,
                error=error,
            )
            for id_, run_id, event, channel, target, body, created_at, attempts, state, error in self.db.read(
                f"SELECT {_OUTBOX} FROM outbox {where}", values
            )
        ]


def _due(now: datetime) -> tuple[int, int]:
    return micros(now), micros(now + 2 * LONGEST_BACKOFF)
