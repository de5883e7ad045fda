"""The daemon lock: makes sure that one process per home runs the loops.

The daemon, or a program that embeds it, holds an OS lock for its whole life, so the lock is free the moment
its owner dies. The locked file names the owner; it means nothing while it is not locked.
"""

from __future__ import annotations

import os
import time

from errands import __version__
from errands.model.errors import StoreUnwritable
from errands.ports.home import is_locked, lock_file, lock_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from errands.ports.home import Home

    Role = Literal["daemon", "embedded"]


class DaemonLock:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._handle: int | None = None
        self.is_after_reboot = False

    def take(self, role: Role, lanes: Mapping[str, int], *, boot: str = "") -> bool:
        """Take the lock; return False if another process has it. `boot` identifies the machine's boot."""
        try:
            handle = _locked(self._home.lock)
        except OSError as error:
            raise StoreUnwritable(
                f"cannot open {self._home.lock}: {error.strerror}; check its permissions"
            ) from error
        if handle is None:
            return False
        self._handle = handle
        # A forked child would otherwise keep the lock after we are gone.
        os.register_at_fork(after_in_child=self.release)
        try:
            last = os.pread(handle, 1 << 16, 0).decode("utf-8", "replace")
            self.is_after_reboot = bool(boot and last.strip()) and boot not in last
            self.write(role, lanes, boot=boot)
        except OSError as error:
            self.release()
            raise StoreUnwritable(
                f"cannot write {self._home.lock}: {error.strerror}; free some space"
            ) from error
        return True

    def write(self, role: Role, lanes: Mapping[str, int], *, boot: str = "") -> None:
        """Write down who has the lock, and its lanes, for others to read."""
        assert self._handle is not None
        facts = {
            "version": __version__,
            "role": role,
            "home": self._home.path,
            "lanes": dict(lanes),
            "boot": boot,
        }
        note = lock_note(os.getpid(), facts)
        os.pwrite(self._handle, note, 0)
        os.ftruncate(self._handle, len(note))

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _locked(path: str) -> int | None:
    # A few tries, because `is_daemon_running` holds the lock for an instant.
    for _ in range(5):
        if (handle := lock_file(path)) is not None:
            return handle
        time.sleep(0.01)
    return None


def is_daemon_running(home: Home) -> bool:
    """Return whether a daemon, or a program that embeds one, runs in this home."""
    return is_locked(home.lock)


def daemon_facts(home: Home) -> dict[str, Any] | None:
    """Return the pid, version, role ... of the daemon; None if none runs."""
    import json

    if not is_daemon_running(home):
        return None
    try:
        with open(home.lock) as file:
            facts: dict[str, Any] = json.load(file)
            return facts
    except (OSError, ValueError):
        return {"pid": None, "version": None, "role": None, "home": home.path, "lanes": {}}
