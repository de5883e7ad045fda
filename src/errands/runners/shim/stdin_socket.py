"""The input of a run: a socket in its directory that passes bytes to its standard input, without a daemon.

The shim listens on `control`. A client sends one letter and then the bytes: `d` for input, `e` for input that
ends there. The answer is `k` once the task's pipe has accepted everything, or `x` and the reason. Connections
are served one at a time, so inputs never mix.

What comes from another host is numbered, because its sender may die and send it again: `#`, the number of the
piece, the letter, the count of its bytes and a line end go before it. Each piece is passed on once.
"""

from __future__ import annotations

import _socket
import os
import select

from errands.ports.own_file import reach_socket
from errands.ports.rundir import CONTROL, OVER

_PIECE = 65536
_LAST_WAIT = 0.2  # seconds
_END_OF_INPUT = b"\x04"


class StdinSocket:
    """Pass input on to the task as fast as the task reads it."""

    def __init__(self, directory: str, poll: select.poll, *, is_terminal: bool) -> None:
        self._path = f"{directory}/{CONTROL}"
        self._poll = poll
        self._is_terminal = is_terminal
        self._target = -1
        self._watched = -1
        self._peer: _socket.socket | None = None
        self._kind = b""
        self._pending = b""
        self._last = b"\n"
        self._ended = False
        self._number = self._passed = 0  # the last numbered piece, and how many of its bytes were passed on
        self._done = 0  # the last numbered piece that was passed on as a whole
        self._is_numbered = self._is_known = False
        self._skipped = self._left = 0  # bytes that were passed on before, and that are still to come
        self._listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._listener.setblocking(False)
        before = os.umask(0o177)
        try:
            reach_socket(self._listener.bind, self._path)
        finally:
            os.umask(before)
        self._listener.listen(16)
        self._watch(self._listener.fileno(), select.POLLIN)

    def connect(self, target: int) -> None:
        """Write to this file from now on: the pipe or the terminal of the current step."""
        if self._target >= 0:
            if self._watched == self._target:
                self._watch(target, select.POLLOUT)
            os.close(self._target)
        self._target = target
        os.set_blocking(target, False)

    def ready(self, fd: int, event: int) -> None:
        """Handle an event: a new sender, more input, or room in the pipe."""
        if fd != self._watched:
            return
        if self._peer is None:
            self._accept()
        elif fd == self._target and event & select.POLLHUP:
            # No process has the terminal open, so it will never drain, and poll would report it for ever.
            self._answer(b"xthe task has closed its input")
        elif fd == self._target:
            self._forward()
        else:
            self._receive(self._peer)

    def close(self) -> None:
        """Accept no more input, and answer a sender that is waiting."""
        if self._peer is not None and self._kind and not self._pending:
            # The input may have ended the task before the sender could finish its message.
            self._peer.settimeout(_LAST_WAIT)
            self._receive(self._peer)
        if self._peer is not None:
            self._answer(b"x" + OVER.encode())
        self._poll.unregister(self._watched)
        self._listener.close()
        if self._target >= 0:
            os.close(self._target)
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
        self._kind = b""
        self._is_numbered = self._is_known = False
        self._skipped = self._left = 0
        self._watch(number, select.POLLIN)

    def _receive(self, peer: _socket.socket) -> None:
        try:
            piece = peer.recv(_PIECE)
        except (BlockingIOError, TimeoutError):
            return
        except OSError:
            return self._answer(b"")
        if not self._kind:
            self._kind, piece = piece[:1], piece[1:]
            if self._kind == b"#":
                piece = self._begin_numbered(piece)
            if self._kind not in (b"d", b"e"):
                self._answer(b"xnot understood")
            elif self._ended and not self._is_known:
                self._answer(b"xthe run's input was ended")
            elif piece:
                self._accept_input(piece)
        elif piece:
            self._accept_input(piece)
        elif self._left:
            self._answer(b"")  # its sender died, and another one sends it again
        else:
            if self._is_numbered and not self._is_known:
                self._done = self._number
            if self._kind == b"e" and not self._is_known:
                self._end()
            self._answer(b"k")

    def _begin_numbered(self, piece: bytes) -> bytes:
        """Read what goes before a numbered piece; return the rest."""
        head, _, rest = piece.partition(b"\n")
        try:
            number, self._kind, size = head.split()
            this, self._left = int(number), int(size)
        except ValueError:
            self._kind = b"?"
            return b""
        self._is_numbered, self._is_known = True, this <= self._done
        if not self._is_known and this != self._number:
            self._number, self._passed = this, 0
        self._skipped = self._left if self._is_known else self._passed
        return rest

    def _accept_input(self, piece: bytes) -> None:
        if self._left:
            self._left -= len(piece)
            known = min(self._skipped, len(piece))
            self._skipped -= known
            piece = piece[known:]
            self._passed += len(piece)
            if not piece:
                return
        self._pending, self._last = piece, piece[-1:]
        self._watch(self._target, select.POLLOUT)
        self._forward()

    def _forward(self) -> None:
        try:
            self._pending = self._pending[os.write(self._target, self._pending) :]
        except BlockingIOError:
            return
        except OSError:
            self._ended = True
            return self._answer(b"xthe task has closed its input")
        if not self._pending and self._peer is not None:
            self._watch(self._peer.fileno(), select.POLLIN)

    def _end(self) -> None:
        self._ended = True
        if not self._is_terminal:
            os.close(self._target)
            self._target = -1
            return
        try:
            # In a terminal the first one only ends the current line.
            os.write(self._target, _END_OF_INPUT if self._last == b"\n" else _END_OF_INPUT * 2)
        except OSError:
            pass  # the terminal is gone

    def _answer(self, text: bytes) -> None:
        assert self._peer is not None
        try:
            self._peer.send(text)
        except OSError:
            pass  # the sender did not wait for the answer
        self._watch(self._listener.fileno(), select.POLLIN)
        self._peer.close()
        self._peer = None
        self._pending = b""

    def _watch(self, fd: int, event: int) -> None:
        if self._watched >= 0:
            self._poll.unregister(self._watched)
        self._poll.register(fd, event)
        self._watched = fd
