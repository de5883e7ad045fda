"""The newest run of a priority is claimed first."""

from __future__ import annotations

from tests.chaos.mutants import rewrite

SCENARIO = "queued"
CAUGHT_BY = "I7"

ORDER = "ORDER BY runs.priority, coalesce(runs.place, runs.seq)"


def break_engine() -> None:
    rewrite(ORDER, f"{ORDER} DESC")
