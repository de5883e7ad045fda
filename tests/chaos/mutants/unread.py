"""Recovery does not read the exit line of a record: a run that ended meanwhile is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from errands.model.ending import Ending
from errands.model.record import evolve
from errands.ports.runner import Ended
from errands.runners.pool.pool import ShimPool
from tests.chaos.patch import patch

if TYPE_CHECKING:
    from errands.ports.runner import Found

SCENARIO = "ends_unrecorded"
CAUGHT_BY = "I3"

recover = ShimPool.recover


def break_engine() -> None:
    patch(ShimPool, "recover", _recover)


def _recover(pool: ShimPool, run_id: str, *, attempt: int) -> Found:
    found = recover(pool, run_id, attempt=attempt)
    return evolve(found, ending=Ending(lost="who knows")) if isinstance(found, Ended) else found
