"""A launch is carried out whatever its key says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from errands.engine.approval.ruling import Ruling
from errands.engine.submit.submission import Submitter
from errands.model.options.draft import Draft
from errands.model.record import evolve
from errands.model.view import View
from tests.chaos.surgery import exchange

SCENARIO = "repeated"
CAUGHT_BY = "I1"

launch_all = Submitter.launch_all


def break_engine() -> None:
    exchange(Submitter, "launch_all", _launch_all)


def _launch_all(launching: Submitter, judged: Sequence[tuple[Draft, Ruling]], **named: Any) -> list[View]:
    return launch_all(launching, [(evolve(draft, key=None), ruling) for draft, ruling in judged], **named)
