"""A daemon ignores stop requests from before it was started."""

from __future__ import annotations

from datetime import UTC, datetime

from errands.model.run import Run
from errands.stores.sqlite.store import SqliteStore
from errands.stores.sqlite.transitions import TransitionRows
from tests.chaos.patch import patch

SCENARIO = "cancelled_while_down"
CAUGHT_BY = "I17"

stopping = TransitionRows.stopping
began = datetime.now(UTC)


def break_engine() -> None:
    patch(TransitionRows, "stopping", _stopping)


def _stopping(store: SqliteStore) -> list[Run]:
    return [run for run in stopping(store) if run.stop_requested_at and run.stop_requested_at > began]
