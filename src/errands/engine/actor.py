"""The actor: who starts, cancels or answers something, and which run this process is part of.

A background process is not a person, whatever it did to its environment, so it cannot answer questions.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LAUNCHED = "run "  # what the name of an actor begins with that is a run and not a person
_MARK = b"ERRANDS_RUN_ID="
_SHIMS = (b"/errands/runners/shim/zygote.py\0", b"\0errands.runners.warm.warm_zygote\0")
_MOST = 1000  # ancestors: more than any tree is deep


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
    """Yield every name of the run of this process: from its own environment and from its ancestors'."""
    if run := os.environ.get("ERRANDS_RUN_ID"):
        yield run
    pid = os.getpid()
    for _ in range(_MOST):
        for variable in _read(pid, "environ").split(b"\0"):
            if variable.startswith(_MARK) and variable != _MARK:
                yield os.fsdecode(variable[len(_MARK) :])
        # Orphans of a run come to its shim, so a process without a shim among its ancestors is outside.
        words = _read(pid, "cmdline")
        if any(shim in words for shim in _SHIMS):
            yield "that this process descends from"
            return
        pid = _parent(pid)
        if pid <= 1:
            return


def _parent(pid: int) -> int:
    # The name of a program, in brackets, may contain anything.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""  # another user's process, or a system without /proc: the variable must do
