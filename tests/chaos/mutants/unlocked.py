"""A daemon does not mind that another one holds the home."""

from __future__ import annotations

from errands.engine.daemon import lock
from tests.chaos.surgery import exchange

SCENARIO = "rivals"
CAUGHT_BY = "I16"


def break_engine() -> None:
    exchange(lock, "_locked", _locked)


def _locked(handle: int) -> bool:
    return True
