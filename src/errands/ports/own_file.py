"""Files of ours in a run directory, where the task can replace each of them by something else.

A link may lead out of the walls around the task, and opening a FIFO would block forever. So everything that
is read or written there is opened here, and what is not a plain file counts as missing.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What `open` says about a link, a FIFO without a reader, a socket, a device, a directory, a file that the
# task has made unreadable, and a run directory that is something else.
_STRANGE = frozenset(
    (errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ENOTDIR)
)
_PID = b'"pid": '
_LONGEST_SOCKET = 100  # a unix socket's path must fit into 108 bytes, fewer on some systems
_WARY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class ReplacedError(FileNotFoundError):
    """A task put something else in the place of one of our files, which is therefore missing."""


def open_file(path: str, flags: int = os.O_RDONLY) -> int:
    """Open one of our files; raise ReplacedError for a link or anything else that is not a plain file.

    It never waits: a FIFO would block its reader, and the shim, forever. For writing, a file with a second
    name is not ours either: the other name may be outside of the run directory.
    """
    try:
        file = os.open(path, flags | _WARY, 0o600)
    except OSError as error:
        if error.errno in _STRANGE:
            raise ReplacedError(errno.ENOENT, "a task replaced this file", path) from None
        raise
    found = os.fstat(file)
    if stat.S_ISREG(found.st_mode) and (found.st_nlink < 2 or not flags & os.O_ACCMODE):
        return file
    os.close(file)
    raise ReplacedError(errno.ENOENT, "a task replaced this file", path)


def open_own(path: str, flags: int) -> int:
    """Open one of our files for writing, and create it if it is missing; move away what is there instead.

    Never pass O_TRUNC, which takes effect before the file is known to be ours: truncate it afterwards.
    """
    try:
        return open_file(path, flags | os.O_CREAT)
    except ReplacedError:
        os.rename(path, f"{path}.replaced")
        return open_file(path, flags | os.O_CREAT | os.O_EXCL)


def replace_file(path: str, content: bytes) -> None:
    """Write a file beside it and rename that, so that readers see the old content or the new.

    Of two processes that do so at once, each may rename what the other has written: then write it again.
    """
    while True:
        file = open_own(f"{path}.new", os.O_WRONLY)
        try:
            os.ftruncate(file, 0)
            if os.write(file, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        finally:
            os.close(file)
        try:
            return os.replace(f"{path}.new", path)
        except FileNotFoundError:
            pass  # if the directory is gone, the next try says so


def noted_pid(path: str) -> int | None:
    """Return the pid in a lock file (`home.lock_note`), which means nothing while that is not locked."""
    try:
        file = open_file(path)
    except OSError:
        return None
    try:
        rest = os.read(file, 64).partition(_PID)[2]
    except OSError:
        return None
    finally:
        os.close(file)
    digits = rest[: len(rest) - len(rest.lstrip(b"0123456789"))]
    return int(digits) if digits else None


def is_own(path: str) -> bool:
    """Return whether a path names one of our files, and not what a task put in its place."""
    try:
        os.close(open_file(path))
    except OSError:
        return False
    return True


def check_socket(path: str) -> None:
    """Raise ReplacedError if there is not a socket itself: connecting would follow a link to another one."""
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise ReplacedError(errno.ENOENT, "a task replaced this socket", path)


def reach_socket(act: Callable[[str], None], path: str) -> None:
    """Bind or connect a socket, even to a path that is too long for the system call."""
    if len(os.fsencode(path)) < _LONGEST_SOCKET:
        act(path)
        return
    folder, name = os.path.split(path)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not os.path.isdir(f"/proc/self/fd/{handle}"):
            from errands.model.errors import HomeError  # shims do without it

            raise HomeError(f"the path {path} is too long for a socket; set ERRANDS_HOME to a shorter one")
        act(f"/proc/self/fd/{handle}/{name}")
    finally:
        os.close(handle)
