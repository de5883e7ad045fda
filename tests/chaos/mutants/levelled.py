"""Priorities are ignored."""

from __future__ import annotations

from tests.chaos.mutants import rewrite

SCENARIO = "queued"
CAUGHT_BY = "I7"


def break_engine() -> None:
    order = "coalesce(runs.place, runs.seq)"
    rewrite(f"ORDER BY runs.priority, {order}", f"ORDER BY {order}")
