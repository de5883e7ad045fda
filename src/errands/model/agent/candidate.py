"""A candidate: an agent that can be set up, because this machine has what it needs."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@record
class Candidate:
    """`name` is what a person chooses, `agent` what the configuration calls it.

    `trouble` is what keeps it from starting, and what to do about it; empty if it could start now.
    """

    name: str
    agent: str
    found: str
    settings: Mapping[str, Any] = {}
    trouble: str = ""
