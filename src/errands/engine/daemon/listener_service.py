"""Listening: the daemon's end of the listener, the process in which the sources of events live.

It is started when a task waits for events, told when something changed, and ends by itself when none does.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

from errands.engine.daemon.child_process import Child
from errands.engine.daemon.child_service import LONGEST_SLEEP, pause
from errands.model.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store

GATHER = 0.05  # seconds: what changes in a burst is told in one go
LONG = 60.0  # seconds after which a listener has proved that it can live
_LOG = logging.getLogger("errands.listening")


class ListenerService:
    def __init__(self, store: Store, start: Callable[[socket.socket], int]) -> None:
        self._store = store
        self._listener = Child(start, self._left)
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._began = 0.0
        self._is_closed = False

    def open(self) -> None:
        self.ring()

    def ring(self) -> None:
        """Say that tasks, or runs of theirs, have changed."""
        if self._timer is None and not self._is_closed:
            self._look_in(GATHER)

    def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._listener.close()

    def _look_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._listener.is_there:
            return self._listener.ring()
        try:
            if self._store.watched_tasks():
                self._began = asyncio.get_running_loop().time()
                self._listener.begin()
        except (StoreError, OSError) as error:
            _LOG.error("no listener can be started: %s", error)
            self._look_in(LONGEST_SLEEP)

    def _left(self, code: int) -> None:
        is_old = asyncio.get_running_loop().time() - self._began > LONG
        self._failures = (0 if is_old else self._failures) + 1 if code else 0
        if self._timer is not None:
            self._timer.cancel()
        # Something may have come while it left; one that failed is given time.
        self._look_in(pause(self._failures) if self._failures else GATHER)
