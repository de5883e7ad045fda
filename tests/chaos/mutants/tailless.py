"""The end of an output that went beyond its cap is thrown away."""

from __future__ import annotations

from errands.runners.output.capped_log import Log
from tests.chaos.patch import patch

SCENARIO = "printed"
CAUGHT_BY = "I9"

take_ring = Log._take_ring


def break_shims() -> None:
    patch(Log, "_take_ring", _take_nothing)


def _take_nothing(log: Log) -> bytes:
    take_ring(log)
    return b""
