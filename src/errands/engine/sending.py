"""Sending: the daemon's end of the sender, the process that delivers what is in the outbox.

It is started when something is due, told when more may be, and ends by itself; so a daemon whose tasks
report to the inbox alone pays nothing for channels, and no channel can hold it up.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable

from errands.model.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.clock import Clock
    from errands.ports.store import Store

GATHER = 0.3  # seconds: what ends in a burst is sent in one go
LONGEST_SLEEP = 60.0
SOON = 1.0  # seconds until a sender that failed is started again; doubled each time
SELDOM = 300.0
_LOG = logging.getLogger("errands.sending")


class Sending:
    """`start` gives the process id of a new sender, which has the other end of the line it is handed."""

    def __init__(self, store: Store, clock: Clock, start: Callable[[socket.socket], int]) -> None:
        self._store = store
        self._clock = clock
        self._start = start
        self._line: socket.socket | None = None
        self._pid: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._is_closed = False

    def open(self) -> None:
        """Look what an earlier holder left to be sent."""
        self._look_in(GATHER)

    def ring(self) -> None:
        """Say that there may be something to send."""
        if self._timer is None and not self._is_closed:
            self._look_in(GATHER)

    def close(self) -> None:
        """Hang up: the sender finishes what it is at, and ends."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._line is not None:
            asyncio.get_running_loop().remove_reader(self._line)
            self._line.close()
            self._line = None

    def _look_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._line is not None:
            try:
                self._line.send(b"\n")
            except OSError:
                pass  # it has unread rings already, or is about to be seen to end
            return
        if self._pid is not None:
            return
        try:
            due = min((at for _, at in self._store.queues()), default=None)
        except StoreError as error:
            _LOG.error("the outbox cannot be read: %s", error)
            return self._look_in(LONGEST_SLEEP)
        if due is None:
            return
        wait = (due - self._clock.now()).total_seconds()
        if wait > 0:
            # Never longer than a minute, so that a clock that was set does not make us oversleep.
            self._look_in(min(wait, LONGEST_SLEEP))
        else:
            self._begin()

    def _begin(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._pid = self._start(theirs)
        except OSError as error:
            _LOG.error("no sender can be started: %s", error)
            ours.close()
            return self._look_in(LONGEST_SLEEP)
        finally:
            theirs.close()
        ours.setblocking(False)
        self._line = ours
        asyncio.get_running_loop().add_reader(ours, self._hear)

    def _hear(self) -> None:
        """It never says anything: it hangs up when it ends."""
        assert self._line is not None
        try:
            if self._line.recv(64):
                return
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            pass
        asyncio.get_running_loop().remove_reader(self._line)
        self._line.close()
        self._line = None
        self._take_leave()

    def _take_leave(self) -> None:
        assert self._pid is not None
        try:
            ended, how = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            ended, how = self._pid, 0
        if not ended:
            asyncio.get_running_loop().call_later(0.02, self._take_leave)
            return
        self._pid = None
        self._failures = self._failures + 1 if how else 0
        if self._is_closed:
            return
        if self._timer is not None:
            self._timer.cancel()
        # Something may have come while it left; one that failed is given time.
        self._look_in(min(SOON * 2 ** (self._failures - 1), SELDOM) if self._failures else GATHER)
