"""A rehearsal: before it forks, the zygote goes through a few runs of nothing.

Python fills caches and specialises code as it runs. Whatever the zygote warmed up lies in pages that all
shims share; otherwise each would do it again, and take a fifth more memory of its own.
"""

from __future__ import annotations

import _socket
import os

from errands.runners.shim.shim import Shim
from errands.runners.shim.wire import frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.runners.system.system import System

TIMES = 10  # the interpreter specialises code that ran eight times


def prewarm(system: System, directory: str, *, boot: str) -> None:
    """Carry out runs in a directory of their own, up to the start of a command that cannot start."""
    ours, theirs = _socket.socketpair()
    shim = Shim(system, theirs.detach(), boot=boot)
    order = {
        "op": "start",
        "run": "rehearsal",
        "attempt": 1,
        "header": b"",
        "steps": [("main", ["no such program"], "")],
        "cwd": "/",
        "env": dict(os.environ),
        "cap": 0,
        "timeout": None,
        "idle": None,
        "grace": 0.0,
        "limits": {"memory": None, "cpu": None, "processes": None},
        "nice": None,
        "input": "none",
        "may_wait": False,
    }
    for time in range(TIMES):
        ours.send(frame(order | {"dir": f"{directory}.{time}"}))
        shim.take_turn()
        shim.take_turn()
        ours.recv(65536)
    shim.close()
    ours.close()
    for time in range(TIMES):
        try:
            for name in os.listdir(f"{directory}.{time}"):
                os.unlink(f"{directory}.{time}/{name}")
            os.rmdir(f"{directory}.{time}")
        except OSError:
            pass  # the disk cannot be used: the first real run will tell
