"""The holder of the loops, as a shim sees it: the one process below a run that is not the run's.

A command inside a run may be the first to notice that the daemon was killed, and starts it again. The new
daemon, its zygote and its shims then descend from that run's shim; to end them with the run would end
everybody's work.
"""

from __future__ import annotations

import fcntl
import os


def holder(run_directory: str) -> int | None:
    """Give the process that holds the lock of the home a run belongs to; None when nobody does."""
    home = os.path.dirname(os.path.dirname(run_directory))
    try:
        lock = os.open(f"{home}/lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None  # it is free, so whoever is named in it holds it no more
    except BlockingIOError:
        _, _, rest = os.read(lock, 4096).partition(b'"pid": ')
        digits = rest[: len(rest) - len(rest.lstrip(b"0123456789"))]
        return int(digits) if digits else None
    finally:
        os.close(lock)
