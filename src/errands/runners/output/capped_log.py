"""The capped log of a run: the beginning in `output.log`, the end in a ring buffer beside it.

Up to half of the cap the log is one plain file. Later output goes into the ring `output.tail`, so that both
never exceed the cap; at the end of the run the ring is appended to the log, after a line that says how much
is missing. The note of the ring is written before and after each piece, so that readers know which bytes are
valid while a run is live, or after its shim was killed.
"""

from __future__ import annotations

import fcntl
import os

from errands.ports.own_file import open_own
from errands.ports.rundir import LOG, NOTE_SIZE, TAIL, head_size, read_at, ring_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    Bytes = bytes | bytearray | memoryview


class Log:
    """Write the output of a run; count everything, keep what the cap allows.

    A full disk never stops the run: the bytes are still counted, and `disk` says what went wrong.
    """

    def __init__(self, directory: str, *, header: bytes, cap: int) -> None:
        self.total = 0
        self.lines = 0
        self.kept = 0
        self.disk = ""
        self._directory = directory
        self._head = head_size(cap)
        self._ring = -1
        self._size = max(cap - self._head, 1)
        self._written = 0
        self._ends_line = True
        self._file = -1
        self._header = 0
        self._open(header)

    def write(self, piece: Bytes, *, lines: int) -> None:
        """Write one piece of output, which has this number of line ends."""
        size = len(piece)
        self.total += size
        self.lines += lines
        self._ends_line = piece[-1] == 10
        if self.disk:
            return
        room = self._head - self.kept
        if room >= size:
            self.kept += self._append(piece)
            return
        if room > 0:
            self.kept += self._append(piece[:room])
            piece = piece[room:]
        if not self.disk:
            self._write_ring(piece)

    def finish(self) -> dict[str, int | str]:
        """Turn log and ring into one plain file; return the facts that readers need."""
        tail = self._take_ring()
        missing, gap = self._join(tail)
        if self._file >= 0 and missing > self.total - self.kept - len(tail):
            # The disk filled up while the tail was appended, so the line before it would be wrong.
            os.ftruncate(self._file, self._header + self.kept)
            missing, gap = self._join(b"")
        if self._file >= 0:
            os.close(self._file)
        facts: dict[str, int | str] = {
            "header": self._header,
            "bytes": self.total,
            "lines": self.lines + (not self._ends_line),
            "kept": self.kept,
        }
        if missing:
            facts |= {"truncated": 1, "lost_bytes": missing}
        if gap:
            facts["gap"] = gap
        if self.disk:
            facts["disk"] = self.disk
        return facts

    def _join(self, tail: bytes) -> tuple[int, int]:
        """Append a line about what is missing and the tail; return the missing bytes and that line's size."""
        missing, gap = self.total - self.kept - len(tail), 0
        if missing:
            cause, dots = ("truncated: disk full,", "") if self.disk else ("...", " ...")
            gap = self._append(f"\n[{cause} {missing:,} bytes not kept{dots}]\n".encode(), force=True)
        return missing + len(tail) - self._append(tail, force=True), gap

    def _open(self, header: bytes) -> None:
        """Overwrite the header from the launch in place, so that the file always has one."""
        try:
            self._file = open_own(f"{self._directory}/{LOG}", os.O_WRONLY)
            self._header = self._append(header)
            os.ftruncate(self._file, self._header)
            fcntl.fcntl(self._file, fcntl.F_SETFL, os.O_APPEND)
        except OSError as error:
            self.disk = _reason(error)

    def _append(self, piece: Bytes, *, force: bool = False) -> int:
        done = 0
        if self._file < 0 or (self.disk and not force):
            return done
        try:
            while done < len(piece):
                done += os.write(self._file, piece[done:] if done else piece)
        except OSError as error:
            self.disk = self.disk or _reason(error)
        return done

    def _write_ring(self, piece: Bytes) -> None:
        try:
            if self._ring < 0:
                self._ring = open_own(f"{self._directory}/{TAIL}", os.O_RDWR)
                os.ftruncate(self._ring, 0)
            end = self._written + len(piece)
            self._write_note(self._written, end)
            piece = piece[-self._size :]
            at = (end - len(piece)) % self._size
            first = self._size - at
            self._pwrite(piece[:first], at)
            if len(piece) > first:
                self._pwrite(piece[first:], 0)
            self._written = end
            self._write_note(end, end)
        except OSError as error:
            self.disk = _reason(error)

    def _write_note(self, written: int, writing: int) -> None:
        os.pwrite(self._ring, ring_note(written, writing, self._size), 0)

    def _pwrite(self, piece: Bytes, at: int) -> None:
        while len(piece):
            done = os.pwrite(self._ring, piece, NOTE_SIZE + at)
            piece, at = piece[done:], at + done

    def _take_ring(self) -> bytes:
        """Return the content of the ring and remove it, so that the disk has room for the log."""
        if self._ring < 0:
            return b""
        tail = b""
        if not self.disk:
            ring = read_at(self._ring, self._size, NOTE_SIZE)
            at = self._written % self._size
            tail = ring if self._written <= self._size else ring[at:] + ring[:at]
        os.close(self._ring)
        try:
            os.unlink(f"{self._directory}/{TAIL}")
        except OSError:
            pass  # the task removed it, but we still had it open
        return tail


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
