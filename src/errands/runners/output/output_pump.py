"""The output pump: reads the pipes or terminals of a run's commands and writes them to the log.

Commands do not write to the log itself, because a task that reopens `/dev/stderr` would truncate it. A line
`::progress 3/10 text` or `::progress 42% text` reports progress.
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
_READS_PER_TURN = 16
_READS_PER_DRAIN = 64
_WINDOW = b"\x18\0\x50\0\0\0\0\0"  # 24 lines of 80 columns, as struct winsize

MARKER = b"::progress "
PAUSE = 0.2
_LONGEST = 400
_TOO_LONG = b"-"

# Allocated before any fork, so that all shims share the pages until they read something.
_buffer = bytearray(_SMALL)


class OutputPump:
    """Read what the commands of a run print, without blocking."""

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
        """Create a pipe and return the end to write to."""
        reading, writing = os.pipe()
        self._add(reading)
        return writing

    def open_terminal(self) -> tuple[int, int]:
        """Create a pseudo-terminal; return the commands' side and a copy of our side, for input."""
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, TIOCSWINSZ, _WINDOW)
        self._add(ours)
        return theirs, os.dup(ours)

    def read(self, file: int) -> bool:
        """Read what is there, up to a limit, so that other events get a turn; return if there may be more."""
        buffer = self._buffer
        may_be_more = True
        for _ in range(_READS_PER_TURN):
            try:
                size = os.readv(file, (buffer,))
            except BlockingIOError:
                may_be_more = False
                break
            except OSError:  # how a terminal reports that its last user is gone
                size = 0
            if not size:
                may_be_more = False
                self._remove(file)
                break
            self._log.write(memoryview(buffer)[:size], lines=buffer.count(b"\n", 0, size))
            self.last = time.monotonic()
            self._progress.scan(buffer, size, self.last)
            if size < len(buffer):
                break
            self._full += 1
            if self._full == _SUSTAINED and self._system.widen(file, _LARGE):
                buffer = self._buffer = bytearray(_LARGE)
        return may_be_more

    def drain(self) -> None:
        """Read what was written before now, and no more: a process may keep writing for ever."""
        for file in tuple(self.files):
            for _ in range(_READS_PER_DRAIN):
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
    """Find progress reports in the output and write the latest to disk, at most once per PAUSE.

    `due` is when `flush` must be called, for a report that came too soon after the previous one.
    """

    def __init__(self, directory: str) -> None:
        self.due = float("inf")
        self._directory = directory
        self._partial = b""
        self._latest = b""
        self._next = 0.0

    def scan(self, buffer: bytearray, size: int, now: float) -> None:
        """Scan one piece of output; must stay cheap, because every byte of every run passes here."""
        last = buffer.rfind(b"\n", 0, size)
        if last >= 0:
            if self._partial:
                self._parse(self._partial + buffer[: min(buffer.find(b"\n"), _LONGEST)])
            if buffer.find(MARKER, 0, last) >= 0:
                start = buffer.rfind(b"\n" + MARKER, 0, last) + 1
                if start or not self._partial:
                    self._parse(bytes(buffer[start : buffer.find(b"\n", start)]))
            self._partial = b""
        # The next piece may complete the last line of this one.
        fits = len(self._partial) + size - last <= _LONGEST
        self._partial = self._partial + buffer[last + 1 : size] if fits else _TOO_LONG
        if self._latest:
            if now >= self._next:
                self.flush(now)
            else:
                self.due = self._next

    def flush(self, now: float) -> None:
        """Write the latest progress report, if there is a new one."""
        self.due = float("inf")
        self._next = now + PAUSE
        if self._latest:
            write_progress(self._directory, self._latest)
            self._latest = b""

    def _parse(self, line: bytes) -> None:
        if line.startswith(MARKER):
            self._latest = line[len(MARKER) :].strip()[:_LONGEST]
