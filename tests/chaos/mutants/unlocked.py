"""A daemon ignores the lock of another one."""

from __future__ import annotations

from errands.engine.daemon import lock
from tests.chaos.patch import patch

SCENARIO = "rivals"
CAUGHT_BY = "I16"


def break_engine() -> None:
    patch(lock, "_locked", _locked)


def _locked(handle: int) -> bool:
    return True
