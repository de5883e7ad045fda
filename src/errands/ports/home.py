"""The home: the directory with everything that belongs to an engine.

The names and formats of its files are defined here, those of a run in `rundir`. Shims load this module, too,
so it imports next to nothing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat

from errands.model.errors import HomeError
from errands.model.record import record
from errands.ports.own_file import noted_pid, open_file, replace_file
from errands.ports.rundir import lock_of, scratch_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOCK_NOTE = 1024  # bytes; never shorter, so that it can be overwritten in place on a full disk
_LONGEST_UPTIME = 1e12  # seconds; a larger number is a damaged record


class _Name:
    """The name of a file or folder in a home; of a home it is the whole path."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, home: Home, kind: object) -> str:
        return f"{home.path}/{self._name}"


@record
class Home:
    path: str

    store = _Name("errands.db")
    runs = _Name("runs")
    bell = _Name("bell")
    log = _Name("daemon.log")
    # Locks of processes that exist once: they deliver notices, watch event sources, talk to the fleet, and
    # delete sessions at backends.
    sender = _Name("sender.lock")
    listener = _Name("listener.lock")
    host = _Name("host.lock")
    session_cleanup = _Name("dropping")
    spans = _Name("spans")  # the cursor of the exporter: which runs have been exported
    chat = _Name("chat")  # the folder of the chats: which was the last, and what each has shown
    looked = _Name("looked")  # has the time when a person last marked failures as seen
    mcp = _Name("mcp")  # the folder of the MCP server: its secrets, and calls that became tasks
    metrics = _Name("metrics")  # the folder of the metrics server, with its token
    web = _Name("web")  # of the web server: its lock, its token, one-time codes and signed-in browsers
    waiters = _Name("attending")  # the locks of the processes that wait for an owner's notices
    gate = _Name("gate")  # the lock that a conversation holds while it uses the model
    presence = _Name("present")  # its time is when a person last typed something
    fleet = _Name("fleet.json")  # which fleet this home belongs to; it may contain a password
    guests = _Name("guests")  # a file for each run of another home that this host has
    awaited = _Name("awaited")  # a file for each run that waits for tasks of other homes
    outlook = _Name("outlook")  # why runs that were given to the fleet wait there
    fuse = _Name("fuse")  # the deadline of all runs that other hosts placed here
    walls = _Name("walls")  # what was found out about sandboxes on this machine
    homes = _Name("homes")  # the private home directories of sandboxes, one for each project

    @property
    def lock(self) -> str:
        """The file that the daemon locks, and that names it."""
        return lock_of(self.run(""))

    @property
    def scratch(self) -> str:
        """The folder of the scratch directories, all that read-only commands may write to."""
        return os.path.dirname(scratch_of(self.run(""), 0))

    def discord(self, channel: str) -> str:
        """The file with the last message of each channel that a Discord bot has passed on."""
        return f"{self.path}/discord/{channel}"

    def agent(self, name: str) -> str:
        return f"{self.path}/agents/{name}"

    def run(self, run_id: str) -> str:
        return f"{self.path}/runs/{run_id}"


def make_home(path: str) -> None:
    """Create a home, for its owner alone whatever the umask; refuse a place where others could replace it."""
    if os.path.isdir(path):
        return
    above, missing = path, []
    while not os.path.lexists(above):
        missing.append(above)
        above = os.path.dirname(above)
    if loose := loose_parent(path):
        raise HomeError(
            f"cannot make {path}: everyone may rename what is in {loose}; "
            f"run `chmod o-w {loose}`, or set ERRANDS_HOME to a directory elsewhere"
        )
    for each in reversed(missing):
        try:
            os.mkdir(each, 0o700)  # the parents too, unlike `makedirs`
        except FileExistsError:
            if not os.path.isdir(each):
                raise
    if not os.path.isdir(path):
        raise FileExistsError(errno.EEXIST, "not a directory", path)


def loose_parent(path: str) -> str:
    """Return a directory above a path where every user may rename what others own; "" if there is none."""
    above = os.path.realpath(path)
    while (above := os.path.dirname(above)) != "/":
        try:
            mode = os.stat(above).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode) and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return above
    return ""


def lock_note(pid: int, facts: dict[str, Any]) -> bytes:
    """Return what the lock file says about the daemon: one JSON object that begins with its pid."""
    from errands.model.text.json_text import plain_text

    return plain_text({"pid": pid, **facts}).encode().ljust(LOCK_NOTE)


def lock_file(path: str) -> int | None:
    """Open a file and lock it, until the handle is closed or the process ends; None if it is locked."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def is_locked(path: str) -> bool:
    """Return whether a living process holds the lock of a file."""
    try:
        file = open_file(path)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def boottime() -> float:
    """Return the seconds since the machine started, including those it was suspended for."""
    import time

    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def write_fuse(path: str, deadline: float) -> None:
    """Write the time that runs of the fleet may continue until, on the clock of `boottime`, in one step."""
    replace_file(path, b"%.3f\n" % deadline)


def read_fuse(path: str) -> float | None:
    """Return the time that runs of the fleet may continue until; None if it is not known."""
    try:
        file = open_file(path)
    except OSError:
        return None
    try:
        found = float(os.read(file, 64))
        return found if 0 <= found < _LONGEST_UPTIME else None
    except (OSError, ValueError):
        return None
    finally:
        os.close(file)


def note_awaited(home: Home, run_id: str, tasks: tuple[str, ...]) -> None:
    """Note which tasks of other homes a held run waits for; the host process reads it."""
    import json

    os.makedirs(home.awaited, 0o700, exist_ok=True)
    replace_file(f"{home.awaited}/{run_id}", json.dumps(tasks).encode())


def daemon_pid(run_directory: str) -> int | None:
    """Return the pid of the daemon of a run's home; None when none runs.

    It may be a descendant of the run, because a command inside a run restarts a daemon that was killed. It
    must not be ended with the run: all other work depends on it.
    """
    path = lock_of(run_directory)
    return noted_pid(path) if is_locked(path) else None  # else the process named in it is gone


def process_mark(pid: int) -> str:
    """Return a pid and when its process started, if the system says so, because a pid can be reused."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return f"{pid}." + file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return str(pid)
