"""A finding: one thing `doctor` looked at, how it is, and what to do about it."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Level = Literal["ok", "warn", "fail"]


@record
class Finding:
    section: str
    level: Level
    text: str
    advice: str = ""
