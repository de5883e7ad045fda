"""Progress: what a run reports on purpose while it goes on.

A line `::progress 3/10 text` or `::progress 42% text` is meant for us. The last one seen stands in the file
`progress` of the run directory, rewritten a few times a second at most.
"""

from __future__ import annotations

from errands.ports.rundir import write_progress

MARKER = b"::progress "
PAUSE = 0.2
_LONGEST = 400
_TOO_LONG = b"-"


class Progress:
    """Watch output go by and keep the file `progress` up to date.

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
