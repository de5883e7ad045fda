"""The inbox does not record the first time that it hands over a notice."""

from __future__ import annotations

from typing import Any

from errands.model.notices.notice import Notice
from errands.stores.sqlite.notices import NoticeRows
from errands.stores.sqlite.store import SqliteStore
from tests.chaos.patch import patch

SCENARIO = "ends"
CAUGHT_BY = "I5"

take = NoticeRows.take_inbox
forgotten: set[int] = set()


def break_engine() -> None:
    patch(NoticeRows, "take_inbox", _take)


def _take(store: SqliteStore, owner: str, **named: Any) -> list[Notice]:
    notices = take(store, owner, **named)
    for notice in notices:
        if notice.id not in forgotten:
            forgotten.add(notice.id)
            store.db.write("UPDATE outbox SET state = 'waiting' WHERE id = ?", (notice.id,))
    return notices
