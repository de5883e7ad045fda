"""Notices: the outbox, written with the state it tells of, and the inbox, read once by its owner."""

from __future__ import annotations

from errands.model.notice import LONGEST_BACKOFF, Address, Notice
from errands.stores.sqlite.rows import micros, moment
from errands.stores.sqlite.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

_OUTBOX = "id, run_id, event, channel, target, body, created_at, attempts, state, error"


class NoticeRows(Table):
    def add_notice(self, run_id: str, event: str, address: Address, *, body: str, now: datetime) -> None:
        at = micros(now)
        self.db.write(
            """
            INSERT OR IGNORE INTO outbox (run_id, event, channel, target, body, created_at, next_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            (run_id, event, address.channel, address.target, body, at, 0),
        )

    def due_notices(self, channel: str, *, now: datetime, limit: int) -> list[Notice]:
        # A time further off than any back-off was set by a clock that has been put back since.
        return self._outbox(
            """
            WHERE state = 'waiting' AND channel = ? AND (next_at <= ? OR next_at > ?)
            ORDER BY id LIMIT ?
            """,
            channel,
            micros(now),
            micros(now + 2 * LONGEST_BACKOFF),
            limit,
        )

    def next_notice_at(self, channel: str) -> datetime | None:
        """Tell when the next waiting notice of a channel is due."""
        rows = self.db.read(
            "SELECT next_at FROM outbox WHERE state = 'waiting' AND channel = ? ORDER BY next_at LIMIT 1",
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
        return self._outbox("WHERE state <> 'delivered' ORDER BY id LIMIT 1000")

    def put_inbox(self, notices: Sequence[Notice]) -> None:
        self.db.write_all(
            """
            INSERT OR IGNORE INTO inbox (notice, owner, run_id, event, body, created_at)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [(n.id, n.address.target, n.run_id, n.event, n.body, micros(n.created_at)) for n in notices],
        )

    def take_inbox(self, owner: str, *, reader: str, now: datetime, limit: int) -> list[Notice]:
        found = self._inbox("WHERE owner = ? AND told_at IS NULL ORDER BY notice LIMIT ?", owner, limit)
        self.db.write_all(
            "UPDATE inbox SET told_at = ?, told_to = ? WHERE notice = ? AND told_at IS NULL",
            [(micros(now), reader, each.id) for each in found],
        )
        return found

    def unread(self, owner: str | None) -> list[Notice]:
        everybody = owner is None
        # What the notifier has not put into the inbox yet has not been told either.
        return [
            *self._inbox("WHERE told_at IS NULL AND (? OR owner = ?) ORDER BY notice", everybody, owner),
            *self._outbox(
                """
                WHERE state = 'waiting' AND channel = 'inbox' AND (? OR target = ?)
                  AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.notice = outbox.id)
                ORDER BY id
                """,
                everybody,
                owner,
            ),
        ]

    def forget_notices(self, *, before: datetime) -> int:
        cutoff = micros(before)
        inbox = self.db.write("DELETE FROM inbox WHERE told_at < ?", (cutoff,)).rowcount
        # A delivered row that its reader has not taken yet is what keeps it from being delivered twice.
        self.db.write(
            """
            DELETE FROM outbox WHERE state = 'delivered' AND delivered_at < ?
                                 AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.notice = outbox.id)
            """,
            (cutoff,),
        )
        return inbox

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

    def _inbox(self, where: str, *values: Any) -> list[Notice]:
        return [
            Notice(
                id=id_,
                run_id=run_id,
                event=event,
                address=Address(channel="inbox", target=owner),
                body=body,
                created_at=moment(created_at),
                state="delivered",
            )
            for id_, owner, run_id, event, body, created_at in self.db.read(
                f"SELECT notice, owner, run_id, event, body, created_at FROM inbox {where}", values
            )
        ]
