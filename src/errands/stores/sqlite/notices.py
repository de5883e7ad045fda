"""Notices: the outbox, written in the transaction of the state change it reports.

The inbox is the part of it that is not sent: it waits until its owner asks, and is returned once.
"""

from __future__ import annotations

from errands.model.agent.session import reaches
from errands.model.codec import RowCodec, Shape
from errands.model.notices.notice import LONGEST_BACKOFF, Address, Notice
from errands.stores.sqlite.columns import TYPES, maybe_micros, micros, moment
from errands.stores.sqlite.table import Table, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from errands.model.notices.notice import NoticeState

_NOTICE = RowCodec(
    Notice,
    "outbox",
    TYPES,
    columns={"address": ("channel", "target"), "delivery": "letter"},
    address=Shape(read=lambda channel, target: Address(channel=channel, target=target)),
)
_UNREAD = "WHERE state = 'waiting' AND channel = 'inbox'"
_SENT = "state = 'waiting' AND channel <> 'inbox'"
# A time further away than any back-off was set before the clock was set back.
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

    def queues(self) -> list[tuple[Address, datetime]]:
        # One step of the index per address, however many notices wait for each.
        rows = self.db.read(
            f"""
            WITH RECURSIVE heads (id) AS (
                SELECT (SELECT id FROM outbox INDEXED BY outbox_queues
                        WHERE {_SENT} ORDER BY channel, target, id LIMIT 1)
                UNION ALL
                SELECT coalesce(
                    (SELECT id FROM outbox INDEXED BY outbox_queues
                     WHERE {_SENT} AND channel = head.channel AND target > head.target
                     ORDER BY target, id LIMIT 1),
                    (SELECT id FROM outbox INDEXED BY outbox_queues
                     WHERE {_SENT} AND channel > head.channel ORDER BY channel, target, id LIMIT 1))
                FROM heads JOIN outbox AS head ON head.id = heads.id
            )
            SELECT channel, target, next_at FROM heads JOIN outbox ON outbox.id = heads.id
            """
        )
        return [
            (Address(channel=channel, target=target), moment(next_at)) for channel, target, next_at in rows
        ]

    def queued(self, address: Address, *, limit: int) -> list[Notice]:
        return self._outbox(
            f"INDEXED BY outbox_queues WHERE {_SENT} AND channel = ? AND target = ? ORDER BY id LIMIT ?",
            address.channel,
            address.target,
            limit,
        )

    def assign_delivery(self, notice_ids: Sequence[int]) -> None:
        self.db.write_all(
            "UPDATE outbox SET letter = ? WHERE id = ? AND state = 'waiting' AND letter IS NULL",
            [(notice_ids[0], each) for each in notice_ids],
        )

    def mark_delivered(self, notice_ids: Sequence[int], *, now: datetime) -> None:
        self.db.write_all(
            """
            UPDATE outbox SET state = 'delivered', delivered_at = ?, error = NULL
            WHERE id = ? AND state = 'waiting'
            """,
            [(micros(now), each) for each in notice_ids],
        )

    def defer(
        self, notice_ids: Sequence[int], *, error: str, next_at: datetime, is_attempt: bool = True
    ) -> None:
        self.db.write_all(
            """
            UPDATE outbox SET attempts = attempts + ?, next_at = ?, error = ?
            WHERE id = ? AND state = 'waiting'
            """,
            [(is_attempt, micros(next_at), error, each) for each in notice_ids],
        )

    def give_up(self, notice_ids: Sequence[int], state: NoticeState, *, error: str) -> None:
        self.db.write_all(
            """
            UPDATE outbox SET attempts = attempts + 1, state = ?, error = ?
            WHERE id = ? AND state = 'waiting'
            """,
            [(state, error, each) for each in notice_ids],
        )

    def send_again(self, notice_ids: Sequence[int] | None) -> list[int]:
        # A delivery is sent again as it was, so that a receiver that got it after all recognises it.
        chosen = ""
        if notice_ids is not None:
            ids = f"({marks(notice_ids)})"
            chosen = (
                f"AND (id IN {ids} OR letter IN "
                f"(SELECT letter FROM outbox WHERE id IN {ids} AND state IN ('unknown', 'dead')))"
            )
        rows = self.db.write(
            f"""
            UPDATE outbox SET state = 'waiting', attempts = 0, next_at = 0
            WHERE state IN ('unknown', 'dead') {chosen} RETURNING id
            """,
            (*(notice_ids or ()), *(notice_ids or ())),
        ).fetchall()
        return sorted(row[0] for row in rows)

    def undelivered(self, *, given_up: bool = False) -> list[Notice]:
        if given_up:
            return self._outbox("WHERE state IN ('unknown', 'dead') ORDER BY id LIMIT 1000")
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

    def acknowledge(self, run_id: str, *, place: str, reader: str, now: datetime) -> None:
        found = self._outbox("WHERE run_id = ? AND state = 'waiting'", run_id)
        self.db.write_all(
            """
            UPDATE outbox SET state = 'delivered', delivered_at = ?, reader = ?
            WHERE id = ? AND state = 'waiting'
            """,
            [(micros(now), reader, each.id) for each in found if reaches(each.address, place)],
        )

    def inbox(
        self, owner: str | None, *, now: datetime | None = None, after: int | None = None
    ) -> list[Notice]:
        where, values = ["channel = 'inbox'"], list[object]()
        if owner is not None:
            where.append("target = ?")
            values.append(owner)
        if after is not None:
            where.append("id > ?")
            values.append(after)
        else:
            where.append("state = 'waiting'")
        if now is not None:
            where.append(_DUE)
            values += _due(now)
        return self._outbox(f"WHERE {' AND '.join(where)} ORDER BY id", *values)

    def inbox_beginning(self, beginning: str) -> list[Notice]:
        return self._outbox(
            f"{_UNREAD} AND target >= ? AND target < ? ORDER BY target, id LIMIT 100",
            beginning,
            f"{beginning}~",
        )

    def last_notice(self) -> int:
        rows = self.db.read("SELECT max(id) FROM outbox")
        return int(rows[0][0] or 0)

    def _outbox(self, where: str, *values: Any) -> list[Notice]:
        rows = self.db.read(f"SELECT {_NOTICE.columns} FROM outbox {where}", values)
        return [_NOTICE.read(row) for row in rows]


def _due(now: datetime) -> tuple[int, int]:
    return micros(now), micros(now + 2 * LONGEST_BACKOFF)
