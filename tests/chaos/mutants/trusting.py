"""A process is taken for one of a run because it has the pid that the record names."""

from __future__ import annotations

from typing import Any

from errands.runners.shim import sweep
from tests.chaos.patch import patch

SCENARIO = "reused"
CAUGHT_BY = "I10"


def break_shims() -> None:
    patch(sweep, "_fits", _always_fits)


def _always_fits(*_: Any, **__: Any) -> bool:
    return True
