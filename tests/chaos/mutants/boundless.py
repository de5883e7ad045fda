"""Lanes have no width."""

from __future__ import annotations

from typing import Any

from errands.model.run import Run
from errands.model.task import Task
from errands.stores.sqlite.store import SqliteStore
from tests.chaos.surgery import exchange

SCENARIO = "crowded"
CAUGHT_BY = "I6"

claim = SqliteStore.claim


def break_engine() -> None:
    exchange(SqliteStore, "claim", _claim)


def _claim(store: SqliteStore, lane: str, *, limit: int, **named: Any) -> list[tuple[Task, Run]]:
    return claim(store, lane, limit=100, **named)
