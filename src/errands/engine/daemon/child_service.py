"""Sending: the daemon's end of the sender, the process that delivers what is in the outbox.

It is started when something is due, told when more may be, and ends by itself; so a daemon whose tasks
report to the inbox alone pays nothing for channels, and no channel can hold it up.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

from errands.engine.daemon.child_process import Child
from errands.model.errors import StoreError
from errands.model.notices.notice import due_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.clock import Clock
    from errands.ports.store import Store

GATHER = 0.3  # seconds: what ends in a burst is sent in one go
LONGEST_SLEEP = 60.0
SOON = 1.0  # seconds until a process that failed is started again; doubled each time
SELDOM = 300.0
_LOG = logging.getLogger("errands.sending")


class SenderService:
    def __init__(self, store: Store, clock: Clock, start: Callable[[socket.socket], int]) -> None:
        self._store = store
        self._clock = clock
        self._sender = Child(start, self._left)
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._is_closed = False

    def open(self) -> None:
        """Look what an earlier holder left to be sent."""
        self._look_in(GATHER)

    def ring(self) -> None:
        """Say that there may be something to send."""
        if self._is_closed:
            return
        if self._timer is not None:
            soon = asyncio.get_running_loop().time() + GATHER
            if self._failures or self._timer.when() <= soon:
                return
            self._timer.cancel()  # it slept until the next try of something else
        self._look_in(GATHER)

    def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._sender.close()

    def _look_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._sender.is_there:
            self._sender.ring()
            return
        try:
            now = self._clock.now()
            wait = min((due_in(at, now) for _, at in self._store.queues()), default=None)
        except StoreError as error:
            _LOG.error("the outbox cannot be read: %s", error)
            return self._look_in(LONGEST_SLEEP)
        if wait is None:
            return
        if wait:
            # Never longer than a minute, so that a clock that was set does not make us oversleep.
            self._look_in(min(wait, LONGEST_SLEEP))
        else:
            self._begin()

    def _begin(self) -> None:
        try:
            self._sender.begin()
        except OSError as error:
            _LOG.error("no sender can be started: %s", error)
            self._look_in(LONGEST_SLEEP)

    def _left(self, code: int) -> None:
        self._failures = self._failures + 1 if code else 0
        if self._timer is not None:
            self._timer.cancel()
        # Something may have come while it left; one that failed is given time.
        self._look_in(pause(self._failures) if self._failures else GATHER)


class KeptService:
    """Keeps a process running for as long as the loops run, such as the bot on Discord."""

    def __init__(self, start: Callable[[socket.socket], int]) -> None:
        self._child = Child(start, self._left)
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0

    def open(self) -> None:
        self._timer = None
        try:
            self._child.begin()
        except OSError as error:
            _LOG.error("a process cannot be started: %s", error)
            self._left(1)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._child.close()

    def _left(self, code: int) -> None:
        self._failures += 1
        seconds = pause(self._failures)
        _LOG.error("a process that is to run ended with %d; it is started again in %g s", code, seconds)
        self._timer = asyncio.get_running_loop().call_later(seconds, self.open)


def pause(failures: int) -> float:
    """Tell how long to wait before something that failed so often is started again."""
    return min(SOON * 2.0 ** (min(failures, 12) - 1), SELDOM)
