"""Reading the log of a run: by offset or from the end, live or finished, in constant memory.

An offset counts the bytes that the task printed, kept or not, without the header before them. The bytes
between the kept beginning and the kept end are gone, and every reader learns how many.
"""

from __future__ import annotations

import os
import time

from errands.model.errors import NoInput, NotListening
from errands.model.record import evolve
from errands.ports import rundir
from errands.ports.output import CONTEXT, Piece
from errands.ports.own_file import check_socket, open_file, reach_socket
from errands.ports.rundir import read_at
from errands.runners.shim import run_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_AT_ONCE = 1 << 20
_TAIL_SIZES = (1 << 16, 1 << 18)
_TRIES = 20
_MOMENT = 0.02  # seconds between two tries to send input
_PAUSE = 0.0005  # seconds between two tries: about what a shim needs for one piece


def read(directory: str, *, offset: int = 0, limit: int | None = None) -> Piece:
    """Read from an offset: at most `limit` bytes, and never more than a mebibyte at once.

    A piece ends where bytes are missing; the next one says how many. An empty piece means that there is no
    more yet, or, rarely, that the task overwrote it faster than it could be read: then `next_offset` is
    beyond it.
    """
    size = MOST_AT_ONCE if limit is None else min(limit, MOST_AT_ONCE)

    def read_once(log: _LogFiles) -> tuple[Piece, bool]:
        piece = log.read(max(offset, 0), size)
        return log.around(piece), bool(piece.content) or not piece.missing

    return _read_stable(directory, read_once)


def tail(directory: str, lines: int, *, size: int | None = None) -> Piece:
    """Read the last lines, as far as they were kept and fit into a quarter of a mebibyte.

    `size` is that of the whole output of a finished run, if all was kept; it saves reading the run record.
    """
    if size is not None and size <= _TAIL_SIZES[0]:
        file = open_file(f"{directory}/{rundir.LOG}")
        try:
            content = read_at(file, size, max(0, os.fstat(file).st_size - size))
        finally:
            os.close(file)
        last = _last_lines(content, lines)
        before = content[: len(content) - len(last)][-CONTEXT:] if last else b""
        return Piece(content=last, offset=size - len(last), next_offset=size, before=before)

    def read_once(log: _LogFiles) -> tuple[Piece, bool]:
        content = b""
        for size in _TAIL_SIZES:
            content = log.end(size)
            if lines <= content.count(b"\n", 0, -1) or len(content) < size:
                break
        is_valid = bool(content) or not log.total
        content = _last_lines(content, lines)
        at = log.total - len(content)
        return log.around(Piece(content=content, offset=at, next_offset=log.total)), is_valid

    return _read_stable(directory, read_once)


def _last_lines(content: bytes, lines: int) -> bytes:
    at = len(content) - content.endswith(b"\n")
    for _ in range(lines):
        at = content.rfind(b"\n", 0, at)
        if at < 0:
            return content
    return content[at + 1 :] if lines > 0 else b""


def _read_stable(directory: str, read_once: Callable[[_LogFiles], tuple[Piece, bool]]) -> Piece:
    """Read a log; try again, but not for ever, while the task overwrites all that is read."""
    for _ in range(_TRIES):
        with _LogFiles(directory) as log:
            piece, is_valid = read_once(log)
            if is_valid or not log.is_live:
                break
        time.sleep(_PAUSE)
    return piece


def header(directory: str) -> bytes:
    """Read the lines before the output: the task, its command, who approved it and when."""
    with _LogFiles(directory) as log:
        return log.header


def send(directory: str, content: bytes, *, eof: bool = False) -> None:
    """Send input to a running task, and end it with `eof`; return once the task's pipe has accepted all."""
    import _socket

    peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        _connect(peer, directory)
        try:
            peer.sendall((b"e" if eof else b"d") + content)
            peer.shutdown(1)  # SHUT_WR: the message is complete
        except OSError:
            pass  # refused halfway; the answer says why
        try:
            answer = peer.recv(1000)
        except OSError:
            answer = b""
    finally:
        peer.close()
    if reason := _refusal(answer):
        raise NoInput(f"the input was not taken: {reason}")


async def send_numbered(directory: str, number: int, content: bytes, *, eof: bool) -> str:
    """Send a piece of input from another host, once however often it is tried; return why it was not taken.

    Other work continues while the task does not read it. A run that is about to start is waited for.
    """
    import asyncio
    import socket

    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        give_up = loop.time() + rundir.STARTS_WITHIN
        while True:
            try:
                _connect(peer, directory)
                break
            except NotListening as error:
                if loop.time() > give_up:
                    return str(error)
            except NoInput as error:
                return str(error)
            await asyncio.sleep(_MOMENT)
        peer.setblocking(False)
        head = b"#%d %s %d\n" % (number, b"e" if eof else b"d", len(content))
        try:
            await loop.sock_sendall(peer, head + content)
            peer.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused halfway; the answer says why
        try:
            return _refusal(await loop.sock_recv(peer, 1000))
        except OSError:
            return _refusal(b"")


def _connect(peer: Any, directory: str) -> None:
    try:
        check_socket(f"{directory}/{rundir.CONTROL}")
        reach_socket(peer.connect, f"{directory}/{rundir.CONTROL}")
    except OSError:
        raise _no_input(directory) from None


def _refusal(answer: bytes) -> str:
    """Return why input was not taken; nothing if it was."""
    if answer == b"k":
        return ""
    return answer[1:].decode() if answer else rundir.CUT_SHORT


def _no_input(directory: str) -> NoInput:
    try:
        found = run_record.latest(directory)
    except OSError:
        found = None
    if found is None:
        return NotListening("the run has not started, so it takes no input yet")
    if found.exit is not None:
        return NoInput(rundir.OVER)
    return NotListening(rundir.NO_INPUT)


class _LogFiles:
    """The files of a log, opened once, so that everything read from them is consistent."""

    def __init__(self, directory: str) -> None:
        self._file = self._ring = -1
        self._header = self._kept = self._gap = 0
        self.total = 0
        self.end_begins = 0
        try:
            found = run_record.latest(directory)
            # The ring before the log: when a run ends, the ring is removed first, and then the log grows.
            self._ring = _open(f"{directory}/{rundir.TAIL}")
            self._file = _open(f"{directory}/{rundir.LOG}")
        except (FileNotFoundError, NotADirectoryError, PermissionError):  # removed or replaced by the task
            return
        facts = found.exit if found is not None else None
        self._header, is_started = 0, True
        if found is not None and found.header is not None:
            self._header = found.header
        elif self._file >= 0:  # the run has not started, or the task removed its run record
            header = rundir.header_of(self._file)
            self._header, is_started = len(header), rundir.is_completed(header)
        if facts is not None and "kept" in facts:
            self._kept = run_record.number(facts["kept"]) or 0
            self._gap = run_record.number(facts.get("gap")) or 0
            self.total = run_record.number(facts.get("bytes")) or 0
            self.end_begins = self._kept + (run_record.number(facts.get("lost_bytes")) or 0)
            if self._ring >= 0:
                os.close(self._ring)
                self._ring = -1
        elif self._file >= 0 and is_started:  # else its shim may be completing the header right now
            self._kept = max(0, os.fstat(self._file).st_size - self._header)
            if found is not None and found.head is not None:
                self._kept = min(self._kept, found.head)
            written, overwritten = self._ring_note()
            self.total = self._kept + written
            self.end_begins = self._kept + overwritten
        if self.end_begins == self._kept:
            self.end_begins = 0  # nothing is missing

    def __enter__(self) -> _LogFiles:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self._file, self._ring):
            if file >= 0:
                os.close(file)

    @property
    def is_live(self) -> bool:
        """Return whether the task may overwrite what is being read."""
        return self._ring >= 0

    @property
    def header(self) -> bytes:
        return read_at(self._file, min(self._header, rundir.LONGEST_HEADER), 0)

    def read(self, offset: int, limit: int) -> Piece:
        """Read from the kept beginning or from the kept end."""
        asked = offset
        if offset < self._kept:
            content = read_at(self._file, min(limit, self._kept - offset), self._header + offset)
        else:
            offset = min(max(offset, self.end_begins), max(self.total, asked))
            content = self._read_end(offset, min(limit, self.total - offset))
            if self._ring >= 0:
                # Bytes that were overwritten while we read are missing, too.
                lost = max(0, self._kept + self._ring_note()[1] - offset)
                content, offset = content[lost:], offset + min(lost, len(content))
        return Piece(
            content=content, offset=offset, next_offset=offset + len(content), missing=offset - asked
        )

    def end(self, size: int) -> bytes:
        """Read the last bytes: at most `size`, and only from the kept end."""
        return self._until(self.total, size)

    def around(self, piece: Piece) -> Piece:
        """Add to a piece what was kept right before and after it."""
        if not piece.content:
            return piece
        after = b""
        if piece.next_offset < self.total and (piece.next_offset != self._kept or not self.end_begins):
            after = self.read(piece.next_offset, CONTEXT).content
        return evolve(piece, before=self._until(piece.offset, CONTEXT), after=after)

    def _until(self, end: int, size: int) -> bytes:
        """Read what was kept right before an offset: at most `size` bytes, and nothing from before a gap."""
        content = b""
        at = max(end - size, self.end_begins if end > self._kept else 0)
        while at < end:
            piece = self.read(at, end - at)
            if piece.next_offset <= at:
                break  # the file is shorter than the run record says
            content = piece.content if piece.missing else content + piece.content
            at = piece.next_offset
        return content

    def _read_end(self, offset: int, size: int) -> bytes:
        if size <= 0 or self._file < 0:
            return b""
        if self._ring < 0:
            begins = self.end_begins or self._kept
            return read_at(self._file, size, self._header + self._kept + self._gap + offset - begins)
        at = (offset - self._kept) % self._size
        content = read_at(self._ring, min(size, self._size - at), rundir.NOTE_SIZE + at)
        return content + read_at(self._ring, size - len(content), rundir.NOTE_SIZE)

    def _ring_note(self) -> tuple[int, int]:
        """Return how much went into the ring, and how much of that is overwritten or may be."""
        written, writing, self._size = rundir.read_ring_note(read_at(self._ring, rundir.NOTE_SIZE, 0))
        return written, max(0, writing - self._size)


def _open(path: str) -> int:
    try:
        return open_file(path)
    except FileNotFoundError:
        return -1
