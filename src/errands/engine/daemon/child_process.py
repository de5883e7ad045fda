"""A child: a process beside the daemon that ends with it, because the line between them breaks.

The line carries nothing but rings. Whatever becomes of the child, its number is given back to the system.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

REAPED = 0.02  # seconds between two looks for the end of a process that has hung up


class Child:
    """`start` gives the process id of a new child, which has the other end of the line it is handed.

    `ended` is called with its exit code, negative for a signal, when it has ended by itself.
    """

    def __init__(self, start: Callable[[socket.socket], int], ended: Callable[[int], None]) -> None:
        self._start = start
        self._ended = ended
        self._line: socket.socket | None = None
        self._pid: int | None = None

    @property
    def is_there(self) -> bool:
        return self._pid is not None

    def begin(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._pid = self._start(theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self._line = ours
        asyncio.get_running_loop().add_reader(ours, self._hear)

    def ring(self) -> None:
        try:
            if self._line is not None:
                self._line.send(b"\n")
        except OSError:
            pass  # it has unread rings already, or is about to be seen to end

    def close(self) -> None:
        """Hang up: it finishes what it is at, and ends."""
        self._ended = _nothing
        if self._line is not None:
            self._hang_up()
            self._take_leave()

    def _hear(self) -> None:
        """It never says anything: it hangs up when it ends."""
        assert self._line is not None
        try:
            if self._line.recv(64):
                return
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            pass
        self._hang_up()
        self._take_leave()

    def _hang_up(self) -> None:
        assert self._line is not None
        asyncio.get_running_loop().remove_reader(self._line)
        self._line.close()
        self._line = None

    def _take_leave(self) -> None:
        assert self._pid is not None
        try:
            ended, how = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            ended, how = self._pid, 0
        if ended:
            self._pid = None
            self._ended(os.waitstatus_to_exitcode(how))
        else:
            asyncio.get_running_loop().call_later(REAPED, self._take_leave)


def _nothing(code: int) -> None:
    """Nobody asks any more."""
