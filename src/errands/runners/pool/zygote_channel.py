"""A channel: messages to and from a zygote or a shim, on the event loop and without blocking it."""

from __future__ import annotations

import socket
from array import array
from typing import TYPE_CHECKING, Any

from errands.runners.shim.wire import FORK, Frames, frame

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable


class Channel:
    """One end of a stream socket; calls `on_message` per message, and `on_end` when the peer is gone."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        end: socket.socket,
        *,
        on_message: Callable[[Any], None],
        on_end: Callable[[], None],
    ) -> None:
        end.setblocking(False)
        self._loop = loop
        self._socket = end
        self._on_message = on_message
        self._on_end = on_end
        self._frames = Frames()
        self._waiting: list[tuple[bytes, socket.socket | None]] = []
        self._is_writing = False
        loop.add_reader(end.fileno(), self._receive)

    def send(self, message: Any) -> None:
        """Send a message, now or once there is room in the socket."""
        self._send(frame(message), None)

    def pass_on(self, end: socket.socket) -> None:
        """Ask the zygote to fork a shim with this end of a channel, and close it here."""
        self._send(FORK, end)

    def _send(self, packed: bytes, passing: socket.socket | None) -> None:
        self._waiting.append((packed, passing))
        if len(self._waiting) == 1:
            self._send_waiting()

    def receive_all(self) -> None:
        """Receive everything that has arrived by now, instead of waiting for the event loop."""
        while self._receive():
            pass

    def close(self) -> None:
        """Close the channel without calling `on_end`."""
        if self._socket.fileno() < 0:
            return
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_writer(self._socket.fileno())
        self._socket.close()
        for _, passing in self._waiting:
            if passing is not None:
                passing.close()
        self._waiting.clear()

    def _send_waiting(self) -> None:
        while self._waiting:
            packed, passing = self._waiting[0]
            try:
                if passing is None:
                    sent = self._socket.send(packed)
                else:
                    rights = array("i", [passing.fileno()])
                    sent = self._socket.sendmsg([packed], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
                    passing.close()
            except BlockingIOError:
                self._is_writing = True
                self._loop.add_writer(self._socket.fileno(), self._send_waiting)
                return
            except OSError:
                return  # the peer is gone; the reader is about to notice
            if sent < len(packed):
                self._waiting[0] = packed[sent:], None
            else:
                del self._waiting[0]
        if self._is_writing:
            self._is_writing = False
            self._loop.remove_writer(self._socket.fileno())

    def _receive(self) -> bool:
        """Receive once; return whether there may be more."""
        if self._socket.fileno() < 0:
            return False
        try:
            received = self._socket.recv(65536)
        except BlockingIOError:
            return False
        except OSError:
            received = b""
        if not received:
            self.close()
            self._on_end()
            return False
        for message in self._frames.feed(received):
            self._on_message(message)
        return True
