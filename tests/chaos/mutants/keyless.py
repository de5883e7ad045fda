"""A launch ignores its key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from errands.engine.approval.ruling import Ruling
from errands.engine.submit.submission import Submitter
from errands.model.options.draft import Draft
from errands.model.record import evolve
from errands.model.view import View
from tests.chaos.patch import patch

SCENARIO = "repeated"
CAUGHT_BY = "I1"

submit_all = Submitter.submit_all


def break_engine() -> None:
    patch(Submitter, "submit_all", _submit_all)


def _submit_all(launching: Submitter, judged: Sequence[tuple[Draft, Ruling]], **named: Any) -> list[View]:
    return submit_all(launching, [(evolve(draft, key=None), ruling) for draft, ruling in judged], **named)
