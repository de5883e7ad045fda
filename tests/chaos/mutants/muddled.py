"""Whoever reads a record takes the words of runs that had it before for those of the one that has it now."""

from __future__ import annotations

from errands.runners.shim import sweep
from tests.chaos.surgery import exchange

SCENARIO = "handed_on"
CAUGHT_BY = "I8"


def break_shims() -> None:
    exchange(sweep, "latest", _all)


def _all(record: bytes) -> list[str]:
    return record.decode("utf-8", "replace").split("\n")[:-1]
