"""A clock decides when a notice is due: one written by a clock ahead of the reader's has to wait."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from errands.model.notices.notice import Notice
from errands.stores.sqlite.notices import NoticeRows
from errands.stores.sqlite.store import SqliteStore
from tests.chaos.patch import patch

SCENARIO = "clock_set_back"
CAUGHT_BY = "I5"

take = NoticeRows.take_inbox


def break_engine() -> None:
    patch(NoticeRows, "take_inbox", _take)


def _take(store: SqliteStore, owner: str, *, now: datetime, **named: Any) -> list[Notice]:
    early = [each for each in store.inbox(owner) if each.created_at > now]
    for notice in early:
        store.db.write("UPDATE outbox SET channel = 'later' WHERE id = ?", (notice.id,))
    taken = take(store, owner, now=now, **named)
    for notice in early:
        store.db.write("UPDATE outbox SET channel = 'inbox' WHERE id = ?", (notice.id,))
    return taken
