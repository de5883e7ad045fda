"""The recorder: the run record as its shim writes it.

It is created exclusively before anything is started and locked for as long as the run goes on; its exit
line is the last act. So whoever finds it knows whether the run never began, goes on, or how it ended.
"""

from __future__ import annotations

import errno
import fcntl
import os

from errands.ports import rundir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What passes when somebody else makes room; until there is a record the run has provably not begun.
SCARCE = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)


class BusyError(Exception):
    """There is no room to begin now; nothing was started, so it can be tried again."""


class RefusedError(Exception):
    """This attempt has a record already: somebody else decided about it."""


class Recorder:
    """Create the record of an order, or learn that it cannot be done now or was done by somebody else."""

    def __init__(self, order: dict[str, Any], *, shim: int, boot: str) -> None:
        self._directory: str = order["dir"]
        self._path = rundir.record_path(self._directory, order["attempt"])
        self._first = rundir.first_line(
            order["run"],
            attempt=order["attempt"],
            shim=shim,
            boot=boot,
            header=len(order["header"]),
            cap=order["cap"],
        )
        try:
            self._file = self._create()
        except OSError as error:
            if error.errno in SCARCE:
                raise BusyError(error.strerror) from None
            raise

    def note_start(self, pid: int, *, step: int, since: float, until: float) -> None:
        """Write down a command, and when it was started, so that its number cannot be taken for another's."""
        try:
            os.write(self._file, rundir.pid_line(pid, since=since, until=until, step=step))
        except OSError:
            pass  # a full disk; a sweep still finds the command by its environment

    def note_exit(self, text: bytes) -> None:
        """Write the last line."""
        if os.fstat(self._file).st_nlink:
            os.write(self._file, text)
        else:  # the task removed it; how it ended must be known all the same
            os.makedirs(self._directory, 0o700, exist_ok=True)
            flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
            file = os.open(self._path, flags, 0o600)
            os.close(self._file)
            self._file = file
            os.write(self._file, self._first + text)

    def close(self) -> None:
        """Let go of the lock, even if a process that we forked has the file, too: the run is over."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        os.close(self._file)

    def _create(self) -> int:
        try:
            os.mkdir(self._directory, 0o700)
        except FileExistsError:
            pass
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        try:
            try:
                file = os.open(self._path, flags, 0o600)
            except FileNotFoundError:  # a holder put its tombstone in the place of the empty directory
                file = os.open(self._path, flags, 0o600)
        except FileExistsError:
            raise RefusedError from None
        except OSError:
            self._leave_nothing()
            raise
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise RefusedError from None
        if os.fstat(file).st_size:  # a recovering daemon took it between the creation and the lock
            os.close(file)
            raise RefusedError
        try:
            os.write(file, self._first)
        except OSError:
            os.unlink(self._path)
            os.close(file)
            self._leave_nothing()
            raise
        return file

    def _leave_nothing(self) -> None:
        """Remove the directory: without a record it would look as if the run had begun and removed it."""
        try:
            os.rmdir(self._directory)
        except OSError:
            pass  # what the launch made is in there
