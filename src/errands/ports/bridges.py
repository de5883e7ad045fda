"""Bridges: how a background agent reaches the OpenCode that its caller talks to.

The plugin in OpenCode listens on a private socket, and our process beside it keeps a note about it here. The
note outlives both: it says which program to start when that OpenCode is gone. While a server of our own works
on a session, it holds it: a prompt from anywhere else is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket

from errands.model.record import fields, record
from errands.ports.home import Home, lock_file, process_mark
from errands.ports.own_file import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

URL = "http://127.0.0.1:4096"  # where `opencode serve` listens unless it is told otherwise
SESSION = "opencode:"  # how the names of OpenCode's sessions begin here
NOTES = "bridges"  # in the folder of the agent
HELD = ".held"  # how the files of held sessions end, beside the notes


@record
class Bridge:
    """`started` says when the process began: a pid can be reused; `data` is where sessions are kept."""

    pid: int
    started: str
    socket: str
    program: str
    data: str
    sessions: tuple[str, ...] = ()  # used in it, the latest last

    @property
    def is_alive(self) -> bool:
        """Return whether the process of OpenCode still runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass  # it belongs to another user
        return started(self.pid) == self.started

    @property
    def is_refused(self) -> bool:
        """Return whether the socket refuses connections: its process is gone, or has closed it."""
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(2)
            try:
                probe.connect(self.socket)
            except (ConnectionRefusedError, FileNotFoundError):
                return True
            except OSError:
                pass
        return False


def data_directory(environ: Mapping[str, str]) -> str:
    """Return where the OpenCode of an environment keeps its sessions."""
    base = environ.get("XDG_DATA_HOME") or os.path.join(environ.get("HOME", ""), ".local", "share")
    return os.path.join(base, "opencode")


def started(pid: int) -> str:
    """Return when a process started, if the system says so."""
    return process_mark(pid).partition(".")[2]


def folder(home: str) -> str:
    """Return the folder of the notes, in a home."""
    return os.path.join(Home(path=home).agent("opencode"), NOTES)


def keep(place: str, bridge: Bridge) -> None:
    """Write the note about a bridge, in one step; notes about processes that are gone make room for it."""
    os.makedirs(place, mode=0o700, exist_ok=True)
    for path, other in _notes(place):
        if other.data == bridge.data and not other.is_alive:
            _remove(path, other)
    path = os.path.join(place, f"{bridge.pid}-{os.getpid()}.json")
    facts = {name: getattr(bridge, name) for name in fields(bridge)}
    replace_file(path, json.dumps(facts).encode())


def found(place: str, data: str, session: str = "") -> Sequence[Bridge]:
    """Return the bridges to the sessions of a data directory, the most useful first.

    Those that have used `session` come first; those of processes that are gone come last.
    """
    bridges = [each for _, each in _notes(place) if each.data == data]
    return sorted(bridges, key=lambda each: (not each.is_alive, session not in each.sessions))


def hold(place: str, session: str, run: str) -> int | None:
    """Hold a session for a run, until its process ends or releases it; None if it cannot be held just now."""
    os.makedirs(place, mode=0o700, exist_ok=True)
    handle = lock_file(_held(place, session))
    if handle is None:
        return None
    if not os.fstat(handle).st_nlink:  # released meanwhile
        os.close(handle)
        return None
    os.ftruncate(handle, 0)
    os.write(handle, run.encode())
    return handle


def release(place: str, session: str, handle: int) -> None:
    """End a hold."""
    try:
        os.unlink(_held(place, session))
    except FileNotFoundError:
        pass
    os.close(handle)


def holder(place: str, session: str) -> str | None:
    """Return the run that holds a session, if any; the text is empty if it has only just begun."""
    try:
        handle = os.open(_held(place, session), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.read(handle, 1000).decode()
    finally:
        os.close(handle)
    return None


def _held(place: str, session: str) -> str:
    return os.path.join(place, os.path.basename(session) + HELD)


def _notes(place: str) -> list[tuple[str, Bridge]]:
    notes = []
    for path in sorted(_paths(place), key=_written, reverse=True):
        try:
            with open(path) as file:
                facts = json.load(file)
            notes.append((path, Bridge(**{**facts, "sessions": tuple(facts["sessions"])})))
        except (OSError, ValueError, TypeError, KeyError):
            continue  # just replaced, or of another version
    return notes


def _paths(place: str) -> list[str]:
    try:
        return [os.path.join(place, name) for name in os.listdir(place) if name.endswith(".json")]
    except FileNotFoundError:
        return []


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _remove(path: str, bridge: Bridge) -> None:
    """Remove a note, and the socket that a killed process has left behind, with its folder."""
    for act, target in (
        (os.unlink, path),
        (os.unlink, bridge.socket),
        (os.rmdir, os.path.dirname(bridge.socket)),
    ):
        try:
            act(target)
        except OSError:
            pass
