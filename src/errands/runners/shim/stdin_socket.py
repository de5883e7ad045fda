"""The input of a run: whoever may enter its directory can write to its standard input, daemon or not.

The shim listens on `control` in the run directory. A connection is one letter and then the bytes:
`d` gives input, `e` gives input and ends it. It is answered with `k` once the task's pipe has taken it
all, or with `x` and the reason. One connection is served at a time, so inputs are never mixed.
"""

from __future__ import annotations

import _socket
import os
import select

from errands.ports.home import reach_socket
from errands.ports.rundir import CONTROL

_PIECE = 65536
_LAST_WORD = 0.2  # seconds
_END_OF_INPUT = b"\x04"


class StdinSocket:
    """Pass input on to the task as fast as the task takes it."""

    def __init__(self, directory: str, poll: select.poll, *, is_terminal: bool) -> None:
        self._path = f"{directory}/{CONTROL}"
        self._poll = poll
        self._is_terminal = is_terminal
        self._into = -1
        self._watched = -1
        self._peer: _socket.socket | None = None
        self._delivery = b""
        self._waiting = b""
        self._last = b"\n"
        self._ended = False
        self._listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._listener.setblocking(False)
        before = os.umask(0o177)
        try:
            reach_socket(self._listener.bind, self._path)
        finally:
            os.umask(before)
        self._listener.listen(16)
        self._watch(self._listener.fileno(), select.POLLIN)

    def connect(self, into: int) -> None:
        """Feed this file from now on: the pipe or the terminal of the step that runs."""
        if self._into >= 0:
            if self._watched == self._into:
                self._watch(into, select.POLLOUT)
            os.close(self._into)
        self._into = into
        os.set_blocking(into, False)

    def ready(self, fd: int, event: int) -> None:
        """Go on with what became possible: a sender, a piece of input, or room in the pipe."""
        if fd != self._watched:
            return
        if self._peer is None:
            self._accept()
        elif fd == self._into and event & select.POLLHUP:
            # Nobody has the terminal open. It stays as full as it is, and would be called ready for ever.
            self._answer(b"xthe task has closed its input")
        elif fd == self._into:
            self._pass_on()
        else:
            self._receive(self._peer)

    def close(self) -> None:
        """Take no more input; a sender that waits is told so."""
        if self._peer is not None and self._delivery and not self._waiting:
            # What was sent may have ended the task before the sender could say that this was all.
            self._peer.settimeout(_LAST_WORD)
            self._receive(self._peer)
        if self._peer is not None:
            self._answer(b"xthe run is over")
        self._poll.unregister(self._watched)
        self._listener.close()
        if self._into >= 0:
            os.close(self._into)
        try:
            os.unlink(self._path)
        except OSError:
            pass  # the task removed it, or the whole directory

    def _accept(self) -> None:
        try:
            number, _ = self._listener._accept()  # type: ignore[attr-defined]  # untyped, and all there is here
        except OSError:
            return
        self._peer = _socket.socket(fileno=number)
        self._peer.setblocking(False)
        self._delivery = b""
        self._watch(number, select.POLLIN)

    def _receive(self, peer: _socket.socket) -> None:
        try:
            piece = peer.recv(_PIECE)
        except (BlockingIOError, TimeoutError):
            return
        except OSError:
            return self._answer(b"")
        if not self._delivery:
            self._delivery, piece = piece[:1], piece[1:]
            if self._delivery not in (b"d", b"e"):
                self._answer(b"xnot understood")
            elif self._ended:
                self._answer(b"xthe run's input was ended")
            elif piece:
                self._take(piece)
        elif piece:
            self._take(piece)
        else:
            if self._delivery == b"e":
                self._end()
            self._answer(b"k")

    def _take(self, piece: bytes) -> None:
        self._waiting, self._last = piece, piece[-1:]
        self._watch(self._into, select.POLLOUT)
        self._pass_on()

    def _pass_on(self) -> None:
        try:
            self._waiting = self._waiting[os.write(self._into, self._waiting) :]
        except BlockingIOError:
            return
        except OSError:
            self._ended = True
            return self._answer(b"xthe task has closed its input")
        if not self._waiting and self._peer is not None:
            self._watch(self._peer.fileno(), select.POLLIN)

    def _end(self) -> None:
        self._ended = True
        if not self._is_terminal:
            os.close(self._into)
            self._into = -1
            return
        try:
            # To a terminal the first one only ends the line that was begun.
            os.write(self._into, _END_OF_INPUT if self._last == b"\n" else _END_OF_INPUT * 2)
        except OSError:
            pass  # the terminal is gone and so is its input

    def _answer(self, text: bytes) -> None:
        assert self._peer is not None
        try:
            self._peer.send(text)
        except OSError:
            pass  # the sender did not wait for the answer
        self._watch(self._listener.fileno(), select.POLLIN)
        self._peer.close()
        self._peer = None
        self._waiting = b""

    def _watch(self, fd: int, event: int) -> None:
        if self._watched >= 0:
            self._poll.unregister(self._watched)
        self._poll.register(fd, event)
        self._watched = fd
