"""The processes beside the daemon: each is started when there is work for it, and ends with the daemon.

A child holds the other end of a line to the daemon, which carries nothing but rings and breaks when either
side dies. So a daemon without events or channels pays nothing for them, and no channel can delay it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable

from errands.model.errors import StoreError
from errands.model.notices.notice import due_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.clock import Clock
    from errands.ports.home import Home
    from errands.ports.store import Store

SENDER_DELAY = 0.3  # seconds: what ends in a burst is sent in one go
LISTENER_DELAY = 0.05
LONGEST_SLEEP = 60.0
SHORTEST_PAUSE = 1.0  # seconds until a child that failed is started again; doubled each time
LONGEST_PAUSE = 300.0
PROVEN = 60.0  # seconds after which a child has proved that it can live: its failures are forgotten
REAPED = 0.02  # seconds between two checks for the end of a process that has hung up
_LOG = logging.getLogger("errands.children")


def spawner(home: Home, function: str, *arguments: str) -> Callable[[socket.socket], int]:
    """Return what starts a function of `errands.processes`, with a line to the daemon as standard input."""
    code = f"import sys; from errands.processes import {function}; sys.exit({function}(*sys.argv[1:]))"

    def spawn(line: socket.socket) -> int:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-c", code, *arguments],
            {**os.environ, "ERRANDS_HOME": home.path},
            file_actions=[(os.POSIX_SPAWN_DUP2, line.fileno(), 0)],
        )

    return spawn


def notices_due(store: Store, clock: Clock) -> float | None:
    """Return the seconds until a notice is due to be sent; None when there is none."""
    now = clock.now()
    return min((due_in(at, now) for _, at in store.queues()), default=None)


def events_watched(store: Store) -> float | None:
    """Return 0 if a task waits for events, else None."""
    return 0.0 if store.watched_tasks() else None


class ChildService:
    """Starts a child `delay` after a ring if `work_in` says so: in how many seconds there is work, or None.

    Without `work_in` the child is to run always, so each of its ends is a failure. A child that failed is
    started again after a pause that doubles.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[socket.socket], int],
        work_in: Callable[[], float | None] | None = None,
        *,
        delay: float = 0.0,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        self._name = name
        self._child = Child(start, self._ended)
        self._work_in = work_in
        self._delay = delay
        self._longest_pause = longest_pause
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._started_at = 0.0
        self._is_closed = False

    def open(self) -> None:
        self._look_in(self._delay)

    def ring(self) -> None:
        """Wake the service: there may be work."""
        if self._is_closed:
            return
        if self._timer is not None:
            if self._failures or self._timer.when() <= asyncio.get_running_loop().time() + self._delay:
                return
            self._timer.cancel()  # it slept until something else was due
        self._look_in(self._delay)

    def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._child.close()

    def _look_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._child.is_alive:
            self._child.ring()
            return
        try:
            wait = 0.0 if self._work_in is None else self._work_in()
        except StoreError as error:
            _LOG.error("whether there is work for the %s cannot be read: %s", self._name, error)
            wait = LONGEST_SLEEP
        if wait:
            # Never longer than a minute, so that a clock that was set does not make us oversleep.
            self._look_in(min(wait, LONGEST_SLEEP))
        elif wait is not None:
            self._start()

    def _start(self) -> None:
        self._started_at = asyncio.get_running_loop().time()
        try:
            self._child.start()
        except OSError as error:
            _LOG.error("the %s cannot be started: %s", self._name, error)
            self._ended(1)

    def _ended(self, code: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if code == 0 and self._work_in is not None:
            self._failures = 0
            return self._look_in(self._delay)  # work may have come while it left
        if asyncio.get_running_loop().time() - self._started_at > PROVEN:
            self._failures = 0
        self._failures += 1
        pause = min(SHORTEST_PAUSE * 2.0 ** (min(self._failures, 12) - 1), self._longest_pause)
        _LOG.error("the %s ended with %d; it is started again in %g s", self._name, code, pause)
        self._look_in(pause)


class Child:
    """One process after another; `ended` is called with the exit code, negative for a signal."""

    def __init__(self, start: Callable[[socket.socket], int], ended: Callable[[int], None]) -> None:
        self._start = start
        self._ended = ended
        self._line: socket.socket | None = None
        self._pid: int | None = None

    @property
    def is_alive(self) -> bool:
        return self._pid is not None

    def start(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._pid = self._start(theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self._line = ours
        asyncio.get_running_loop().add_reader(ours, self._read)

    def ring(self) -> None:
        try:
            if self._line is not None:
                self._line.send(b"\n")
        except OSError:
            pass  # it has unread rings already, or is about to be seen to end

    def close(self) -> None:
        """Hang up: the child finishes what it is doing, and ends."""
        self._ended = _ignore
        if self._line is not None:
            self._hang_up()

    def _read(self) -> None:
        """A child never says anything; it hangs up when it ends."""
        assert self._line is not None
        try:
            if self._line.recv(64):
                return
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            pass
        self._hang_up()

    def _hang_up(self) -> None:
        assert self._line is not None
        asyncio.get_running_loop().remove_reader(self._line)
        self._line.close()
        self._line = None
        self._reap()

    def _reap(self) -> None:
        assert self._pid is not None
        try:
            ended, how = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            ended, how = self._pid, 0
        if ended:
            self._pid = None
            self._ended(os.waitstatus_to_exitcode(how))
        else:
            asyncio.get_running_loop().call_later(REAPED, self._reap)


def _ignore(code: int) -> None:
    """The daemon is about to end."""
