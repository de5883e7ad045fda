"""The output of a run on its way: from the pipes (or terminals) its commands write to, into the log.

A pipe, not the log itself: a task that opens `/dev/stderr` anew would otherwise truncate its log. A line
`::progress 3/10 text` or `::progress 42% text` is meant for us.
"""

from __future__ import annotations

import fcntl
import os
import select
import time
from termios import TIOCSWINSZ

from errands.ports.rundir import write_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.runners.output.capped_log import Log
    from errands.runners.system.system import System

_SMALL, _LARGE = 1 << 16, 1 << 20
_SUSTAINED = 8
_AT_ONCE = 16
_TO_THE_LAST = 64
_WINDOW = b"\x18\0\x50\0\0\0\0\0"  # 24 lines of 80 columns, as struct winsize

MARKER = b"::progress "
PAUSE = 0.2
_LONGEST = 400
_TOO_LONG = b"-"

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


class Progress:
    """Watch output go by and keep the last progress that it reports on disk, a few times a second at most.

    `due` is when `tell` wants to be called, for something that was seen too soon after the last.
    """

    def __init__(self, directory: str) -> None:
        self.due = float("inf")
        self._directory = directory
        self._begun = b""
        self._news = b""
        self._next = 0.0

    def see(self, buffer: bytearray, size: int, now: float) -> None:
        """Look at one piece of output. Must stay cheap: every byte of every run goes by here."""
        last = buffer.rfind(b"\n", 0, size)
        if last >= 0:
            if self._begun:
                self._take(self._begun + buffer[: min(buffer.find(b"\n"), _LONGEST)])
            if buffer.find(MARKER, 0, last) >= 0:
                start = buffer.rfind(b"\n" + MARKER, 0, last) + 1
                if start or not self._begun:
                    self._take(bytes(buffer[start : buffer.find(b"\n", start)]))
            self._begun = b""
        # The next piece may end the line that this one began.
        fits = len(self._begun) + size - last <= _LONGEST
        self._begun = self._begun + buffer[last + 1 : size] if fits else _TOO_LONG
        if self._news:
            if now >= self._next:
                self.tell(now)
            else:
                self.due = self._next

    def tell(self, now: float) -> None:
        """Write down what was seen last, if it is news."""
        self.due = float("inf")
        self._next = now + PAUSE
        if not self._news:
            return
        write_progress(self._directory, self._news)
        self._news = b""

    def _take(self, line: bytes) -> None:
        if line.startswith(MARKER):
            self._news = line[len(MARKER) :].strip()[:_LONGEST]
