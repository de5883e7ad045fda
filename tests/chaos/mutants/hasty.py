"""A clock decides when a fresh notice may be told."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from errands.stores.sqlite.store import SqliteStore
from tests.chaos.surgery import exchange

SCENARIO = "clock_set_back"
CAUGHT_BY = "I5"

add_notice = SqliteStore.add_notice


def break_engine() -> None:
    exchange(SqliteStore, "add_notice", _add_notice)


def _add_notice(store: SqliteStore, *words: Any, now: datetime, **named: Any) -> None:
    add_notice(store, *words, now=now, **named)
    at = int(now.timestamp() * 1_000_000)
    store.db.write("UPDATE outbox SET next_at = ? WHERE state = 'waiting' AND next_at < ?", (at, at))
