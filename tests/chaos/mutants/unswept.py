"""What a killed shim leaves behind is reported, and left alone."""

from __future__ import annotations

from typing import Any

from errands.runners.system import tree
from tests.chaos.patch import patch

SCENARIO = "shim_killed"
CAUGHT_BY = "I8"


def break_shims() -> None:
    patch(tree, "kill", _leave_alone)


def _leave_alone(*_: Any, **__: Any) -> tuple[int, ...]:
    return ()
