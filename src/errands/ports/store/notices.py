"""The part of the store about notices: the outbox, and the inbox, which its owner reads."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Protocol

    from errands.model.notices.notice import Address, Notice, NoticeState

    class NoticeStore(Protocol):
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
            """Add a notice, unless there is one of this event of this run for this address."""

        def queues(self) -> list[tuple[Address, datetime]]:
            """Return the addresses with notices to send, and when the first of each is due.

            The inbox is not among them: its owner fetches it.
            """

        def queued(self, address: Address, *, limit: int) -> list[Notice]:
            """Return what is to be sent to an address, oldest first."""

        def assign_delivery(self, notice_ids: Sequence[int]) -> None:
            """Put notices into one delivery, named after the first; they stay together when sent again."""

        def mark_delivered(self, notice_ids: Sequence[int], *, now: datetime) -> None: ...
        def defer(
            self, notice_ids: Sequence[int], *, error: str, next_at: datetime, is_attempt: bool = True
        ) -> None:
            """Send waiting notices later; `is_attempt` counts this as a failed attempt."""

        def give_up(self, notice_ids: Sequence[int], state: NoticeState, *, error: str) -> None:
            """Stop sending: the notices are dead, or it is unknown whether they arrived."""

        def send_again(self, notice_ids: Sequence[int] | None) -> list[int]:
            """Queue what was given up once more, with the rest of its deliveries; everything if None."""

        def undelivered(self, *, given_up: bool = False) -> list[Notice]:
            """List what could not be sent yet or was given up, or only the latter."""

        def take_inbox(self, owner: str, *, reader: str, now: datetime, limit: int) -> list[Notice]:
            """Return and mark as read the unread notices of an owner; each is returned once."""

        def acknowledge(self, run_id: str, *, place: str, reader: str, now: datetime) -> None:
            """Note that a session, or a terminal, knows how a run ended without having read its notice.

            Everyone else the task reports to is still notified.
            """

        def inbox(
            self, owner: str | None, *, now: datetime | None = None, after: int | None = None
        ) -> list[Notice]:
            """List what an owner, or any owner, has not read; with `now`, only what can be taken.

            With `after`, list everything that came in after a notice instead, read or not.
            """

        def inbox_beginning(self, beginning: str) -> list[Notice]:
            """List unread notices whose owners begin like this."""

        def last_notice(self) -> int:
            """Return the number of the newest notice, for any owner."""
