"""The doctor: checks of the installation that change nothing; each yields findings."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Level = Literal["ok", "warn", "fail"]


@record
class Finding:
    """The result of one check; `advice` says how to fix it."""

    level: Level
    text: str
    advice: str = ""


def ok(text: str) -> Finding:
    return Finding(level="ok", text=text)


def warn(text: str, advice: str = "") -> Finding:
    return Finding(level="warn", text=text, advice=advice)


def fail(text: str, advice: str = "") -> Finding:
    return Finding(level="fail", text=text, advice=advice)
