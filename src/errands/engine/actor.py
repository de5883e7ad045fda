"""The actor: who starts, cancels or answers something, and which run this process is part of.

A background process is not a person, whatever it did to its environment, so it cannot answer questions.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LAUNCHED = "run "  # what the name of an actor begins with that is a run and not a person
_MARK = b"ERRANDS_RUN_ID="
_SHIMS = (
    b"/errands/runners/shim/zygote.py\0",
    b"/errands/runners/shim/watch_shim.py\0",
    b"\0errands.runners.warm.warm_zygote\0",
)
_TRIES = 100  # walks up to the first process: processes that end on the way make one more necessary


def actor(environ: Mapping[str, str] = os.environ) -> str:
    """Return the actor of an environment: the run it was made for, or the person."""
    run = environ.get("ERRANDS_RUN_ID")
    name = f"{LAUNCHED}{run}" if run else environ.get("USER") or environ.get("LOGNAME") or _account()
    return name.encode("utf-8", "replace").decode()


def _account() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def enclosing_run() -> str:
    """Return the run that this process is part of, or the empty text."""
    return next(enclosing_runs(), "")


def enclosing_runs() -> Iterator[str]:
    """Yield every name of the run of this process: from its own environment and from its ancestors'.

    All ancestors are looked at, whatever their number. What cannot be ruled out counts as inside, because a
    process can end its parents, or hide them, while they are looked at.
    """
    if run := os.environ.get("ERRANDS_RUN_ID"):
        yield run
    if not sys.platform.startswith("linux"):
        return  # the variable must do
    try:
        if int(os.readlink("/proc/self")) != os.getpid():
            yield "that hides behind a namespace of process numbers"
            return
    except (OSError, ValueError):
        yield "that hides its ancestors: /proc is not what it should be"
        return
    for _ in range(_TRIES):
        chain: list[int] = [os.getpid()]
        while (pid := chain[-1]) > 0:
            for variable in _read(pid, "environ").split(b"\0"):
                if variable.startswith(_MARK) and variable != _MARK:
                    yield os.fsdecode(variable[len(_MARK) :])
            # Orphans of a run come to its shim, so a process without a shim among its ancestors is outside.
            words = _read(pid, "cmdline")
            if any(shim in words for shim in _SHIMS):
                yield "that this process descends from"
                return
            chain.append(0 if pid == 1 or _is_hidden(pid) else _parent(pid))
        if pid == 0 and all(_parent(below) == above for below, above in pairwise(chain) if above):
            return
    yield "that cannot be ruled out: the ancestors of this process keep changing"


def _is_hidden(pid: int) -> bool:
    """Return whether a process belongs to another user, whose processes this system does not show."""
    if _read(pid, "stat"):
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        pass  # it has ended
    return False


def _parent(pid: int) -> int:
    """Return the parent of a process, or -1 if it has ended."""
    # The name of a program, in brackets, may contain anything.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else -1


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""  # another user's process, or one that has ended
