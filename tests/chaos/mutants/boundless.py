"""Lanes have no width."""

from __future__ import annotations

from typing import Any

from errands.model.run import Run
from errands.model.task import Task
from errands.stores.sqlite.store import SqliteStore
from errands.stores.sqlite.transitions import TransitionRows
from tests.chaos.patch import patch

SCENARIO = "crowded"
CAUGHT_BY = "I6"

claim = TransitionRows.claim


def break_engine() -> None:
    patch(TransitionRows, "claim", _claim)


def _claim(store: SqliteStore, lane: str, *, limit: int, **named: Any) -> list[tuple[Task, Run]]:
    return claim(store, lane, limit=100, **named)
