"""The outlet of a run: the pipes (or terminals) its commands write to, read into the log.

A pipe, not the log itself: a task that opens `/dev/stderr` anew would otherwise truncate its log.
"""

from __future__ import annotations

import fcntl
import os
import select
import time
from termios import TIOCSWINSZ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.runners.output.capped_log import Log
    from errands.runners.output.progress import Progress
    from errands.runners.system.system import System

_SMALL, _LARGE = 1 << 16, 1 << 20
_SUSTAINED = 8
_AT_ONCE = 16
_TO_THE_LAST = 64
_WINDOW = b"\x18\0\x50\0\0\0\0\0"  # 24 lines of 80 columns, as struct winsize

# Made before the forks, so that all shims share the pages until they read something.
_buffer = bytearray(_SMALL)


class OutputPump:
    """Read whatever the run's commands print, never waiting for any of them."""

    def __init__(self, system: System, poll: select.poll, log: Log, progress: Progress) -> None:
        self.files: set[int] = set()
        self.last = time.monotonic()
        self._system = system
        self._poll = poll
        self._log = log
        self._progress = progress
        self._buffer = _buffer
        self._full = 0

    def open_pipe(self) -> int:
        """Make a pipe and give the end to write to."""
        reading, writing = os.pipe()
        self._add(reading)
        return writing

    def open_terminal(self) -> tuple[int, int]:
        """Make a pseudo-terminal; give its side for the commands and another hand on our side, for input."""
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, TIOCSWINSZ, _WINDOW)
        self._add(ours)
        return theirs, os.dup(ours)

    def read(self, file: int) -> bool:
        """Take what is there, but not for ever: others want to be heard. Tell if there may be more."""
        buffer = self._buffer
        may_be_more = True
        for _ in range(_AT_ONCE):
            try:
                size = os.readv(file, (buffer,))
            except BlockingIOError:
                may_be_more = False
                break
            except OSError:  # a terminal says so when its last user is gone
                size = 0
            if not size:
                may_be_more = False
                self._remove(file)
                break
            self._log.write(memoryview(buffer)[:size], lines=buffer.count(b"\n", 0, size))
            self.last = time.monotonic()
            self._progress.see(buffer, size, self.last)
            if size < len(buffer):
                break
            self._full += 1
            if self._full == _SUSTAINED and self._system.widen(file, _LARGE):
                buffer = self._buffer = bytearray(_LARGE)
        return may_be_more

    def drain(self) -> None:
        """Take all that was written before now, and no more: somebody may go on writing for ever."""
        for file in tuple(self.files):
            for _ in range(_TO_THE_LAST):
                if not self.read(file):
                    break

    def close(self) -> None:
        for file in tuple(self.files):
            self._remove(file)

    def _add(self, file: int) -> None:
        os.set_blocking(file, False)
        self.files.add(file)
        self._poll.register(file, select.POLLIN)

    def _remove(self, file: int) -> None:
        self.files.discard(file)
        self._poll.unregister(file)
        os.close(file)
