"""The belfry: the holder's end of the doorbell."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress

from errands.ports.home import reach_socket

LONGEST_LINE = 1 << 20
CROWDED = 1.0  # seconds in which nobody is let in, when there are no descriptors left
_LOG = logging.getLogger("errands.bell")


class BellServer:
    """Hears rings and tells watchers; nothing that comes over a socket can hurt the holder."""

    def __init__(self, path: str, ring: Callable[[], None], expect: Callable[[list[str]], None]) -> None:
        self.path = path
        self._ring = ring
        self._expect = expect
        self._lines: dict[socket.socket, bytes] = {}
        self._watchers: dict[str, set[socket.socket]] = {}
        self._waiters: dict[str, set[socket.socket]] = {}
        self._server: socket.socket | None = None
        self._place: tuple[int, int] | None = None

    def open(self) -> None:
        """Start to listen; only the holder of the lock may, so an old socket is nobody's."""
        with suppress(FileNotFoundError):
            os.unlink(self.path)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | getattr(socket, "SOCK_NONBLOCK", 0))
        server.setblocking(False)
        before = os.umask(0o177)
        try:
            reach_socket(server.bind, self.path)
        finally:
            os.umask(before)
        server.listen(1024)
        self._server = server
        self._place = _place(self.path)
        asyncio.get_running_loop().add_reader(server, self._accept)

    def close(self) -> None:
        loop = asyncio.get_running_loop()
        if self._server is not None:
            loop.remove_reader(self._server)
            self._server.close()
            self._server = None
            # Whoever removed our home may have made another one, whose holder listens there.
            with suppress(FileNotFoundError):
                if _place(self.path) == self._place:
                    os.unlink(self.path)
        for line in list(self._lines):
            self._drop(line)

    def tell(self, changed: Iterable[str], *, ended: Iterable[str]) -> None:
        """Tell everybody who watches tasks that they changed, and those who wait for them that they ended."""
        news: dict[socket.socket, list[str]] = {}
        everybody = self._watchers.get("*", ())
        for task_id in changed:
            for line in (*self._watchers.get(task_id, ()), *everybody):
                news.setdefault(line, []).append(task_id)
        for task_id in ended:
            for line in self._waiters.pop(task_id, ()):
                news.setdefault(line, []).append(task_id)
        for line, ids in news.items():
            self._say(line, b"changed " + " ".join(ids).encode() + b"\n")

    def _accept(self) -> None:
        assert self._server is not None
        for _ in range(64):
            try:
                line, _address = self._server.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:  # out of descriptors: those who wait poll instead
                _LOG.warning("cannot accept a connection: %s", error)
                self._rest()
                return
            line.setblocking(False)
            if not _is_ours(line):
                line.close()
                continue
            self._lines[line] = b""
            asyncio.get_running_loop().add_reader(line, self._listen, line)

    def _rest(self) -> None:
        """Listen again in a moment: whoever waits at the door would wake the loop at once, over and over."""
        assert self._server is not None
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._server)
        loop.call_later(CROWDED, self._listen_again)

    def _listen_again(self) -> None:
        if self._server is not None:
            asyncio.get_running_loop().add_reader(self._server, self._accept)

    def _listen(self, line: socket.socket) -> None:
        try:
            said = line.recv(65536)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            said = b""
        if not said:
            self._drop(line)
            return
        rest = self._lines[line] + said
        if len(rest) > LONGEST_LINE:
            self._drop(line)
            return
        *words, self._lines[line] = rest.split(b"\n")
        for each in words:
            if line in self._lines:
                self._obey(line, each)

    def _obey(self, line: socket.socket, words: bytes) -> None:
        match words.split():
            case []:
                self._ring()
            case [b"ring", *task_ids]:
                ids = [each.decode("ascii", "replace") for each in task_ids]
                self.tell(ids, ended=ids)
                self._ring()
            case [b"changed", *task_ids]:
                self.tell([each.decode("ascii", "replace") for each in task_ids], ended=())
                self._ring()
            case [b"new", *lanes]:
                self._expect([each.decode("utf-8", "replace") for each in lanes])
            case [b"watch" | b"await" as how, *task_ids]:
                listeners = self._watchers if how == b"watch" else self._waiters
                for each in task_ids:
                    listeners.setdefault(each.decode("ascii", "replace"), set()).add(line)
                # What changed before this moment was told to nobody, so whoever watches looks once more.
                self._say(line, b"watching\n")
            case [b"ping"]:
                self._say(line, b"pong %d\n" % os.getpid())
            case _:
                pass

    def _say(self, line: socket.socket, words: bytes) -> None:
        try:
            line.send(words)
        except (BlockingIOError, InterruptedError):
            pass  # a watcher that does not read polls instead
        except OSError:
            self._drop(line)

    def _drop(self, line: socket.socket) -> None:
        if self._lines.pop(line, None) is None:
            return
        asyncio.get_running_loop().remove_reader(line)
        for listeners in (self._watchers, self._waiters):
            for task_id in [each for each, lines in listeners.items() if line in lines]:
                listeners[task_id].discard(line)
                if not listeners[task_id]:
                    del listeners[task_id]
        line.close()


def _is_ours(line: socket.socket) -> bool:
    """Tell whether the other end is ours or root's; where the system cannot say, the file's mode does."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _pid, uid, _gid = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid in (0, os.geteuid())


def _place(path: str) -> tuple[int, int]:
    facts = os.stat(path)
    return facts.st_dev, facts.st_ino
