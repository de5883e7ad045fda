"""The run directory: every file a run has, by name and format, for all who write or read them.

    record.<attempt>  what became of an attempt: lines `run`, `pid` and `exit`, or the one word `tombstone`
    output.log        a header, then what the run printed, up to half of its cap
    output.tail       a note, then a ring with the end of what it printed beyond that
    output.<n>.log    what an earlier attempt of an agent printed
    progress          the progress that the task last reported
    control           the socket that takes input
    held              how long an agent has waited for others
    speech            what an agent in a chat says, as it comes
    event.json        the events that the run came of

Shims load this file, too, so it stands on builtins.
"""

from __future__ import annotations

import errno
import os

LOG = "output.log"
EVENT_FILE = "event.json"

_STARTED = b"# started "
_LONGEST_HEADER = 1 << 20


def create(directory: str, header: bytes) -> None:
    """Create a run's directory with the log in it, before there is a row of the run.

    A disk that refuses is no reason not to launch: the shim makes what is not there.
    """
    try:
        _make(directory)
    except OSError:
        return
    path = f"{directory}/{LOG}"
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if os.write(file, header) < len(header):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(file)
    except OSError:
        # Without a log the directory would look as if the run had begun and removed it.
        for remove, made in ((os.unlink, path), (os.rmdir, directory)):
            try:
                remove(made)
            except OSError:
                pass


def _make(directory: str) -> None:
    try:
        os.mkdir(directory, 0o700)
    except FileNotFoundError:
        os.mkdir(os.path.dirname(directory), 0o700)  # the first run of a home; a home that is gone stays gone
        os.mkdir(directory, 0o700)


def header_of(file: int) -> bytes:
    """Read the header of an open log: lines that begin with `# `, up to the first empty one."""
    content = os.pread(file, _LONGEST_HEADER, 0)
    if not content.startswith(b"# "):
        return b""
    end = content.find(b"\n\n")
    return content if end < 0 else content[: end + 2]


def has_begun(directory: str) -> bool:
    """Return whether the log says that its run was started; a shim completes the header as it begins."""
    try:
        file = os.open(f"{directory}/{LOG}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return True  # the run took it away, or put something else in its place
    try:
        header = header_of(file)
    finally:
        os.close(file)
    return header[header.rfind(b"\n", 0, -2) + 1 :].startswith(_STARTED) or not header
