"""A reader returns output that was overwritten while it read."""

from __future__ import annotations

from errands.runners.output.log import _LogFiles
from tests.chaos.patch import patch

SCENARIO = "flooded"
CAUGHT_BY = "I14"

ring_note = _LogFiles._ring_note


def break_engine() -> None:
    patch(_LogFiles, "_ring_note", _believe)


def _believe(log: _LogFiles) -> tuple[int, int]:
    return ring_note(log)[0], 0
