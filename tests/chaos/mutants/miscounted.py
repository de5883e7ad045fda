"""A death by signal is reported as the exit code a shell would give."""

from __future__ import annotations

from collections.abc import Mapping

from errands.model.ending import Ending
from errands.model.record import evolve
from errands.runners.shim import run_record
from tests.chaos.patch import patch

SCENARIO = "ends"
CAUGHT_BY = "I3"

ending = run_record.ending


def break_engine() -> None:
    patch(run_record, "ending", _ending)


def _ending(facts: Mapping[str, str]) -> Ending:
    true = ending(facts)
    return true if true.signal is None else evolve(true, code=128 + true.signal, signal=None)
