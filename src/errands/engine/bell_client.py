"""The doorbell: a unix socket that wakes other processes up. It carries no facts.

A process that commits something rings; the daemon announces to those who watch which tasks changed. A lost
ring costs one poll, never a fact. Lines: `` or `ring ID...` (they ended), `changed ID...`,
`new LANE... : ID...`, `announce ID...` (for watchers of all tasks alone), `watch ID...`, `watch *`,
`await ID`, `ping`; answers: `changed ID...`, `watching` (look now: what comes later is announced),
`pong PID`. Among the ids, `lane:NAME` is a lane, and `*` stands for tasks that are too many to name or whose
names were lost; a line without any says that something was written that no view shows.
"""

from __future__ import annotations

import _socket as socket
import sys

from errands.ports.own_file import reach_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

LANE = "lane:"  # before the name of a lane whose width changed
ALL = "*"
MOST_NAMES = 1000  # in one line: beyond that, it is cheaper to read everything again
MANY = 10  # names in one line, after which more are likely to follow at once


class BellClient:
    """A process's line to the daemon; every call survives the daemon's death."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._line: socket.socket | None = None
        self._rest = b""
        self._owed = b""  # what must be said before the next line, because a line was lost

    def ring(self, ended: Collection[str] = (), *, changed: Collection[str] = ()) -> bool:
        """Report what this process ended, and what else it changed; False when no daemon runs."""
        words = " ".join(("ring", *ended)).encode() + b"\n" if ended else b"\n"
        if changed:
            words = " ".join(("changed", *changed)).encode() + b"\n" + words
        return self._say(words)

    def ring_about(self, task_ids: Iterable[str]) -> bool:
        """Report that these tasks changed, but have not ended."""
        return self._say(" ".join(("changed", *task_ids)).encode() + b"\n")

    def ring_for(self, lanes: Iterable[str], task_ids: Collection[str]) -> bool:
        """Report that these lanes have new runs, of these tasks, and that nothing else changed."""
        return self._say(" ".join(("new", *lanes, ":", *_named(task_ids))).encode() + b"\n")

    def announce(self, task_ids: Collection[str]) -> bool:
        """Report changes of tasks that only watchers care about."""
        return not task_ids or self._say(" ".join(("announce", *_named(task_ids))).encode() + b"\n")

    def watch(self, task_ids: Iterable[str] = ("*",)) -> bool:
        """Subscribe to changes of these tasks, or of all."""
        return self._say(b"watch " + " ".join(task_ids).encode() + b"\n")

    def wait_for(self, task_id: str) -> bool:
        """Subscribe only to the end of a task."""
        return self._say(b"await " + task_id.encode() + b"\n")

    def ping(self) -> bool:
        return self._say(b"ping\n")

    def is_answered(self) -> bool:
        """Return whether a daemon runs; an open line to one that died does not count."""
        try:
            if self._line is not None and not self._line.recv(1, socket.MSG_PEEK):
                self.close()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.close()
        return self._connected() is not None

    def is_out_of_sight(self) -> bool:
        """Return whether a daemon runs that this process cannot see, as in a namespace of its own."""
        line, option = self._connected(), getattr(socket, "SO_PEERCRED", None)
        if line is None or option is None:
            return False
        return not int.from_bytes(line.getsockopt(socket.SOL_SOCKET, option, 12)[:4], sys.byteorder)

    def fileno(self) -> int:
        """Return the descriptor to wait on, or -1 without a line."""
        return -1 if self._line is None else self._line.fileno()

    def read(self) -> list[str] | None:
        """Return the lines that came, without waiting; None when the daemon is gone.

        The last lines of a daemon come alone: callers wait on an open line, which the next call closes.
        """
        if self._line is None:
            return None
        words: list[str] = []
        try:
            while True:
                said = self._line.recv(65536)
                if not said:
                    break
                *lines, self._rest = (self._rest + said).split(b"\n")
                words += [line.decode("ascii", "replace") for line in lines]
        except (BlockingIOError, InterruptedError):
            return words
        except OSError:
            pass
        if words:
            return words
        self.close()
        return None

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        self._rest = b""

    def _say(self, words: bytes) -> bool:
        for _ in range(2):  # the second time with a new line, if the daemon of the old one is gone
            line = self._connected()
            if line is None:
                return False
            try:
                said = self._owed + words
                self._owed = b"" if line.send(said) == len(said) else b"\nannounce *\n"
                return True
            except BlockingIOError:  # the daemon has unread rings already
                self._owed = self._owed or b"announce *\n"
                return True
            except OSError:
                self.close()
        return False

    def _connected(self) -> socket.socket | None:
        if self._line is None:
            line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                reach_socket(line.connect, self.path)
                line.setblocking(False)
            except OSError:
                line.close()
                return None
            self._line = line
        return self._line


def _named(task_ids: Collection[str]) -> Collection[str]:
    return task_ids if len(task_ids) <= MOST_NAMES else (ALL,)
