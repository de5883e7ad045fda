"""The notice of an end is written after the end is committed, not with it."""

from __future__ import annotations

import asyncio
from typing import Any

from errands.stores.sqlite.notices import NoticeRows
from errands.stores.sqlite.store import SqliteStore
from tests.chaos.patch import patch

SCENARIO = "ends_in_a_crash"
CAUGHT_BY = "I5"

add_notice = NoticeRows.add_notice


def break_engine() -> None:
    patch(NoticeRows, "add_notice", _add_later)


def _add_later(store: SqliteStore, *words: Any, **named: Any) -> None:
    def write() -> None:
        with store:
            add_notice(store, *words, **named)

    asyncio.get_running_loop().call_later(0.02, write)
