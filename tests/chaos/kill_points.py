"""Points: the named moments of a task's life at which a process of the engine can be made to kill itself.

The engine does not know about them. They are wrapped around its functions from outside, only in processes
of the harness; a renamed function makes this fail at once, with its name.
"""

from __future__ import annotations

import functools
import importlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.chaos.patch import patch

VARIABLE = "CHAOS_CRASH_AT"  # `P9:2` kills the process the second time it reaches P9


@dataclass(frozen=True, slots=True)
class Point:
    """`before` or `after` a function call; with `filled`, only when its argument or result is not empty."""

    where: str
    function: str
    when: str
    filled: bool = False


_SUPERVISOR = "errands.engine.daemon.supervisor"
_RUN = "errands.runners.shim.run"
_RUN_RECORD = "errands.runners.shim.run_record_writer"

DAEMON_POINTS = {
    "P1 in a transaction": Point("errands.stores.sqlite.connection", "Connection.__exit__", "before"),
    "P2 after a commit": Point("errands.stores.sqlite.connection", "Connection.__exit__", "after"),
    "P3 picked from the queue": Point(
        "errands.engine.daemon.dispatcher", "Dispatcher.claim", "after", filled=True
    ),
    "P4 claimed, not started": Point(_SUPERVISOR, "Supervisor.start", "before"),
    "P5 started, pid not recorded": Point("errands.runners.pool.pool", "ShimPool.start", "after"),
    "P6 running": Point("errands.stores.sqlite.transitions", "TransitionRows.note_start", "after"),
    "P9 ended, not recorded": Point("errands.engine.daemon.outcome", "OutcomeWriter.write", "before"),
    "P10 ended, not announced": Point("errands.stores.sqlite.notices", "NoticeRows.add_notice", "before"),
    "P10 recorded, not notified": Point(_SUPERVISOR, "Supervisor.forget", "before", filled=True),
    "P12 asked to stop": Point("errands.runners.pool.pool", "ShimPool.stop", "after"),
    "P16 in recovery": Point(_SUPERVISOR, "Supervisor.recover", "after"),
}
CLIENT_POINTS = {
    "P0 asked": Point("errands.engine.engine", "Engine.submit_all", "before"),
    "P1 not committed": Point("errands.engine.submit.submission", "Submitter.submit_all", "after"),
    "P2 committed, not answered": Point("errands.engine.engine", "Engine.submit_all", "after"),
    "P13 rows removed, files not": Point("errands.engine.removal", "remove_tree", "before"),
}
SHIM_POINTS = {
    "P5 recorded, not spawned": Point(_RUN, "Run._run_steps", "before"),
    "P5 spawned, pid not recorded": Point(_RUN, "Run._spawn", "after"),
    "P7 in the output": Point("errands.runners.output.capped_log", "Log.write", "after"),
    "P8 exited, not recorded": Point(_RUN_RECORD, "RunRecordWriter.write_exit", "before"),
    "P9 recorded, not reported": Point(_RUN_RECORD, "RunRecordWriter.write_exit", "after"),
}
# Only from here on does the record of a run say how it ended.
SAFE_SHIM_POINT = "P9 recorded, not reported"


def arm(points: dict[str, Point]) -> None:
    """Arm the point that the environment names, if it is one of these."""
    name, _, nth = os.environ.get(VARIABLE, "").rpartition(":")
    if name in points:
        wrap(points[name], _countdown(int(nth)))


def wrap(point: Point, act: Callable[[Any], None]) -> None:
    """Call `act` with a function's first argument whenever the point is reached."""
    owner, name = find(point)
    wrapped = getattr(owner, name)

    @functools.wraps(wrapped)
    def around(*words: Any, **named: Any) -> Any:
        if point.when == "before" and (not point.filled or words[1]):
            act(words[0])
        result = wrapped(*words, **named)
        if point.when == "after" and (not point.filled or result):
            act(words[0])
        return result

    patch(owner, name, around)


def find(point: Point) -> tuple[Any, str]:
    """Find the owner of a point's function, and its name there."""
    owner: Any = importlib.import_module(point.where)
    *path, name = point.function.split(".")
    for each in path:
        owner = getattr(owner, each)
    if not hasattr(owner, name):
        raise AttributeError(
            f"there is no {point.function} in {point.where} any more: kill_points.py has to follow"
        )
    return owner, name


def check() -> None:
    """Check that all points exist; a failure in a zygote would go unnoticed."""
    for point in (*DAEMON_POINTS.values(), *CLIENT_POINTS.values(), *SHIM_POINTS.values()):
        find(point)


def die() -> None:
    """End this process the way the nemesis would."""
    os.kill(os.getpid(), signal.SIGKILL)


def _countdown(left: int) -> Callable[[Any], None]:
    def act(_: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            die()

    return act
