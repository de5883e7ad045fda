"""The writer of the run record, which the shim has for its run.

The file is created exclusively before anything is started, stays locked until the run is over, and gets its
exit line last. So a reader always knows whether the run never started, is running, or how it ended.
"""

from __future__ import annotations

import errno
import fcntl
import os

from errands.ports import rundir
from errands.ports.own_file import open_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Shortages that pass; without a run record the run has provably not started and can be tried again.
SCARCE = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC


class BusyError(Exception):
    """The system has no room to start the run now; nothing was started, so it can be tried again."""


class RefusedError(Exception):
    """This attempt has a run record already: another shim or a daemon decided about it."""


class RunRecordWriter:
    """Create the run record of a launch; raise BusyError or RefusedError if the run must not start now."""

    def __init__(self, launch: dict[str, Any], *, shim: int, boot: str) -> None:
        self._directory: str = launch["dir"]
        self._path = rundir.record_path(self._directory, launch["attempt"])
        self._first = rundir.first_line(
            launch["run"],
            attempt=launch["attempt"],
            shim=shim,
            boot=boot,
            header=len(launch["header"]),
            cap=launch["cap"],
        )
        try:
            self._file = self._create()
        except OSError as error:
            if error.errno in SCARCE:
                raise BusyError(error.strerror) from None
            raise

    def write_start(self, pid: int, *, step: int, since: float, until: float) -> None:
        try:
            os.write(self._file, rundir.pid_line(pid, since=since, until=until, step=step))
        except OSError:
            pass  # the disk is full; a sweep still finds the command by its environment

    def write_exit(self, text: bytes) -> None:
        if self._is_in_place():
            os.write(self._file, text)
        else:  # the task removed or replaced the file, but its ending must be known
            rundir.make_own(self._directory)
            file = open_own(self._path, os.O_WRONLY)
            os.ftruncate(file, 0)
            os.close(self._file)
            self._file = file
            os.write(self._file, self._first + text)

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(os.lstat(self._path), os.fstat(self._file))
        except OSError:
            return False

    def close(self) -> None:
        """Release the lock, even if a forked process still has the file open."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        os.close(self._file)

    def _create(self) -> int:
        try:
            try:
                file = os.open(self._path, _NEW, 0o600)
            except FileNotFoundError:  # the launch could not create the directory
                file = self._create_with_directory()
        except FileExistsError:
            raise RefusedError from None
        except OSError:
            self._remove_directory()
            raise
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise RefusedError from None
        if os.fstat(file).st_size:  # a recovering daemon wrote its tombstone before we locked the file
            os.close(file)
            raise RefusedError
        try:
            os.write(file, self._first)
        except OSError:
            os.unlink(self._path)
            os.close(file)
            self._remove_directory()
            raise
        return file

    def _create_with_directory(self) -> int:
        try:
            os.mkdir(self._directory, 0o700)
        except FileExistsError:
            pass
        try:
            return os.open(self._path, _NEW, 0o600)
        except FileNotFoundError:  # a daemon replaced the empty directory by one with a tombstone
            return os.open(self._path, _NEW, 0o600)

    def _remove_directory(self) -> None:
        """Remove the directory: without a run record it would look as if the run had removed the record."""
        try:
            os.rmdir(self._directory)
        except OSError:
            pass  # it has the log that the launch created
