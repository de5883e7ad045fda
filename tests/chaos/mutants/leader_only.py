"""Only the leader of a run is ended, not its tree."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from errands.runners.system import linux, tree
from tests.chaos.patch import patch

SCENARIO = "cancelled"
CAUGHT_BY = "I8"


def break_shims() -> None:
    patch(tree, "kill", _kill)
    patch(linux, "descendants", _first_child)


def _kill(find: Callable[[], list[int]], **_: Any) -> tuple[int, ...]:
    tree.send(find()[:1], signal.SIGKILL)
    return ()


def _first_child(root: int, **_: Any) -> list[int]:
    return linux.children(root)[:1]
