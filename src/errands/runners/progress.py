"""Progress: what a run's output says about how far it is.

A line `::progress 3/10 text` or `::progress 42% text` is meant for us; without any, `3/10` or `42%` in
the last line is taken for it. What was seen stands in the file `progress`, rewritten a few times a
second at most. A task that writes that file itself is believed more than its output.
"""

from __future__ import annotations

import os

MARKER = b"::progress "
PAUSE = 0.2
_LONGEST = 400
_DIGITS = b"0123456789"


class Progress:
    """Watch output go by and keep the file `progress` up to date.

    `due` is when `tell` wants to be called, for something that was seen too soon after the last.
    """

    def __init__(self, directory: str) -> None:
        self.due: float | None = None
        self._path = directory + "/progress"
        self._end = b""
        self._explicit = b""
        self._told = b""
        self._stamp = 0
        self._next = 0.0

    def see(self, buffer: bytearray, size: int, now: float) -> None:
        """Look at one piece of output. Must stay cheap: every byte of every run goes by here."""
        begun = self._end.rfind(b"\n") + 1
        if self._end[begun : begun + 1] == b":":  # a line that may be meant for us goes on in this piece
            self._find(self._end[begun:] + buffer[: min(size, _LONGEST)])
        if buffer.find(MARKER, 0, size) >= 0:
            self._find(bytes(buffer[:size]))
        end = bytes(buffer[max(0, size - _LONGEST) : size])
        self._end = end if size >= _LONGEST else (self._end + end)[-_LONGEST:]
        if now >= self._next:
            self.tell(now)
        else:
            self.due = self._next

    def tell(self, now: float) -> None:
        """Write down what was seen last, if it is news."""
        self.due = None
        self._next = now + PAUSE
        seen = self._explicit or _guess(self._end)
        if not seen or seen == self._told:
            return
        try:
            if not self._explicit and self._stamp != _stamp(self._path):
                return  # the task writes the file itself
            with open(self._path + ".new", "wb", buffering=0) as file:
                file.write(seen + b"\n")
            os.rename(self._path + ".new", self._path)
        except OSError:
            return  # a full disk or a directory that is gone: progress is a courtesy
        self._told = seen
        self._stamp = _stamp(self._path)

    def _find(self, text: bytes) -> None:
        """Keep the last whole line that begins with the marker."""
        text = b"\n" + text[: text.rfind(b"\n") + 1]
        start = text.rfind(b"\n" + MARKER) + 1
        if start:
            self._explicit = text[start + len(MARKER) : text.index(b"\n", start)].strip()[:_LONGEST]


def _guess(end: bytes) -> bytes:
    """Find `nn%` or `n/m` in the last line of what was printed."""
    line = end.rstrip()
    line = line[max(line.rfind(b"\n"), line.rfind(b"\r")) + 1 :]
    at = line.rfind(b"%")
    if at > 0:
        start = _digits_before(line, at)
        percent = line[start:at]
        if percent and int(percent) <= 100 and _stands_alone(line, start, at):
            return percent + b"%"
    at = line.rfind(b"/")
    while at > 0:
        start, stop = _digits_before(line, at), at + 1
        while stop < len(line) and line[stop] in _DIGITS:
            stop += 1
        done, all_of_it = line[start:at], line[at + 1 : stop]
        if done and all_of_it and 0 < int(all_of_it) >= int(done) and _stands_alone(line, start, stop):
            return done + b"/" + all_of_it
        at = line.rfind(b"/", 0, at)
    return b""


def _digits_before(line: bytes, at: int) -> int:
    while at > 0 and line[at - 1] in _DIGITS:
        at -= 1
    return at


def _stands_alone(line: bytes, start: int, stop: int) -> bool:
    """Tell a counter from a part of a path, a date or a version."""
    before = line[start - 1 : start] if start else b" "
    after = line[stop : stop + 1] or b" "
    return not (before.isalnum() or before in b"/.-_" or after.isalnum() or after in b"/-_")


def _stamp(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
