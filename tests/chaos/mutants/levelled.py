"""Priorities are ignored."""

from __future__ import annotations

from tests.chaos.mutants import rewrite

SCENARIO = "queued"
CAUGHT_BY = "I7"


def break_engine() -> None:
    rewrite("ORDER BY runs.priority, runs.seq", "ORDER BY runs.seq")
