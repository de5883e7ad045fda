"""Recovery starts every running run again, without reading its record."""

from __future__ import annotations

from errands.ports.runner import NotStarted
from errands.runners.pool.pool import ShimPool
from tests.chaos.patch import patch

SCENARIO = "killed_while_running"
CAUGHT_BY = "I2"


def break_engine() -> None:
    patch(ShimPool, "recover", _recover)


def _recover(pool: ShimPool, run_id: str, *, attempt: int) -> NotStarted:
    return NotStarted(run_id=run_id, attempt=attempt)
