"""The bell server: the daemon's end of the bell, which wakes it up and notifies watchers."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress

from errands.engine.bell_client import ALL, MANY
from errands.ports.own_file import reach_socket

LONGEST_MESSAGE = 1 << 20
CROWDED = 1.0  # seconds without accepting connections after running out of descriptors
GATHER = 0.02  # seconds in which more changes are gathered for watchers of all tasks after some were sent
GATHER_MANY = 0.05  # the same, after many were sent
_LOG = logging.getLogger("errands.bell")


class BellServer:
    """Receives rings and notifies watchers; nothing that a client sends can harm the daemon."""

    def __init__(
        self, path: str, ring: Callable[[Collection[str]], None], expect: Callable[[list[str]], None]
    ) -> None:
        self.path = path
        self._ring = ring
        self._expect = expect
        self._buffers: dict[socket.socket, bytes] = {}
        self._watchers: dict[str, set[socket.socket]] = {}
        self._waiters: dict[str, set[socket.socket]] = {}
        self._gathered: set[str] | None = None  # for watchers of all tasks; None if nothing was written
        self._gathering: asyncio.TimerHandle | None = None
        self._unsent: dict[socket.socket, bytes] = {}  # to those who read slowly
        self._server: socket.socket | None = None
        self._identity: tuple[int, int] | None = None

    def open(self) -> None:
        """Start to listen. The caller has the lock of the home, so an old socket has no owner."""
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
        self._identity = _identity(self.path)
        asyncio.get_running_loop().add_reader(server, self._accept)

    def close(self) -> None:
        loop = asyncio.get_running_loop()
        if self._server is not None:
            loop.remove_reader(self._server)
            self._server.close()
            self._server = None
            # If our home was replaced, another daemon may listen at this path.
            with suppress(FileNotFoundError):
                if _identity(self.path) == self._identity:
                    os.unlink(self.path)
        if self._gathering is not None:
            self._gathering.cancel()
        for client in list(self._buffers):
            self._drop(client)

    def notify(self, changed: Collection[str], *, ended: Iterable[str]) -> None:
        """Notify watchers of changed tasks, and waiters of ended ones."""
        news: dict[socket.socket, list[str]] = {}
        for task_id in changed:
            for client in self._watchers.get(task_id, ()):
                news.setdefault(client, []).append(task_id)
        for task_id in ended:
            for client in self._waiters.pop(task_id, ()):
                news.setdefault(client, []).append(task_id)
        for client, ids in news.items():
            self._send(client, _changed(ids))
        if changed:
            self.announce(changed)

    def announce(self, changed: Iterable[str]) -> None:
        """Notify those who watch all tasks; no ids means that something was written that no view shows.

        The changes of the next moment are then sent together: a busy daemon would wake them up a
        thousand times a second.
        """
        if ALL not in self._watchers:
            return
        if self._gathered is None:
            self._gathered = set()
        self._gathered.update(changed)
        if self._gathering is None:
            self._send_gathered()

    def _send_gathered(self) -> None:
        gathered, self._gathered, self._gathering = self._gathered, None, None
        if gathered is not None:
            words = _changed(gathered)
            for client in tuple(self._watchers.get(ALL, ())):
                self._send(client, words)
            pause = GATHER if len(gathered) < MANY else GATHER_MANY
            self._gathering = asyncio.get_running_loop().call_later(pause, self._send_gathered)

    def _accept(self) -> None:
        assert self._server is not None
        for _ in range(64):
            try:
                client, _address = self._server.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:  # out of descriptors: clients poll instead
                _LOG.warning("cannot accept a connection: %s", error)
                self._pause_accepting()
                return
            client.setblocking(False)
            if not _is_same_user(client):
                client.close()
                continue
            self._buffers[client] = b""
            asyncio.get_running_loop().add_reader(client, self._receive, client)

    def _pause_accepting(self) -> None:
        """Stop accepting for a moment: a connection that waits would wake the loop over and over."""
        assert self._server is not None
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._server)
        loop.call_later(CROWDED, self._resume_accepting)

    def _resume_accepting(self) -> None:
        if self._server is not None:
            asyncio.get_running_loop().add_reader(self._server, self._accept)

    def _receive(self, client: socket.socket) -> None:
        try:
            received = client.recv(65536)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            received = b""
        if not received:
            self._drop(client)
            return
        rest = self._buffers[client] + received
        if len(rest) > LONGEST_MESSAGE:
            self._drop(client)
            return
        *words, self._buffers[client] = rest.split(b"\n")
        for each in words:
            if client in self._buffers:
                self._execute(client, each)

    def _execute(self, client: socket.socket, words: bytes) -> None:
        match words.split():
            case []:
                self._ring(())
            case [b"ring", *task_ids]:
                ids = [each.decode("ascii", "replace") for each in task_ids]
                self.notify(ids, ended=ids)
                self._ring(ids)
            case [b"changed", *task_ids]:
                ids = [each.decode("ascii", "replace") for each in task_ids]
                self.notify(ids, ended=())
                self._ring(ids)
            case [b"new", *_]:
                lanes, _, names = words[4:].partition(b" : ")
                self._expect(lanes.decode("utf-8", "replace").split())
                self._announce(names)
            case [b"announce", *_]:
                self._announce(words[9:])
            case [b"watch" | b"await" as how, *task_ids]:
                listeners = self._watchers if how == b"watch" else self._waiters
                for each in task_ids:
                    listeners.setdefault(each.decode("ascii", "replace"), set()).add(client)
                # The answer tells the client to look once more: earlier changes were not sent to it.
                self._send(client, b"watching\n")
            case [b"ping"]:
                self._send(client, b"pong %d\n" % os.getpid())
            case _:
                pass

    def _announce(self, task_ids: bytes) -> None:
        """Announce ids as received; do not even read them if nobody watches."""
        if task_ids and ALL in self._watchers:
            self.announce(task_ids.decode("ascii", "replace").split())

    def _send(self, client: socket.socket, words: bytes) -> None:
        """Send a line; what a client that reads too slowly misses becomes one line, which says so."""
        if client in self._unsent:
            return
        rest = self._send_some(client, words)
        if rest:
            self._unsent[client] = rest + b"changed *\n"
            asyncio.get_running_loop().add_writer(client, self._send_rest, client)

    def _send_rest(self, client: socket.socket) -> None:
        rest = self._send_some(client, self._unsent[client])
        if rest:
            self._unsent[client] = rest
        elif self._unsent.pop(client, None) is not None:
            asyncio.get_running_loop().remove_writer(client)

    def _send_some(self, client: socket.socket, words: bytes) -> bytes:
        """Send what fits; return the rest."""
        try:
            return words[client.send(words) :]
        except (BlockingIOError, InterruptedError):
            return words
        except OSError:
            self._drop(client)
            return b""

    def _drop(self, client: socket.socket) -> None:
        if self._buffers.pop(client, None) is None:
            return
        asyncio.get_running_loop().remove_reader(client)
        if self._unsent.pop(client, None) is not None:
            asyncio.get_running_loop().remove_writer(client)
        for listeners in (self._watchers, self._waiters):
            for task_id in [each for each, clients in listeners.items() if client in clients]:
                listeners[task_id].discard(client)
                if not listeners[task_id]:
                    del listeners[task_id]
        client.close()


def _changed(task_ids: Iterable[str]) -> bytes:
    return " ".join(("changed", *task_ids)).encode() + b"\n"


def _is_same_user(client: socket.socket) -> bool:
    """Return whether the client is our user or root; where unknown, the file's mode has decided."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _pid, uid, _gid = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid in (0, os.geteuid())


def _identity(path: str) -> tuple[int, int]:
    facts = os.stat(path)
    return facts.st_dev, facts.st_ino
