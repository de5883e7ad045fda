"""The pool: starts runs under shims that it keeps ready, and reports what happened to them.

It owns no state that matters: what a run did is in its run record and its log. So the pool, the zygote and
the process around them can be killed at any time, and the next pool finds everything again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from errands.model.ending import Ending
from errands.ports import rundir
from errands.ports.rundir import record_path
from errands.ports.runner import Alive, Ended, Launch, NotStarted, Refused, Started
from errands.runners.pool.adoption import Adoption
from errands.runners.pool.zygote_channel import Channel
from errands.runners.shim import run_record
from errands.runners.shim.run_record_writer import SCARCE
from errands.runners.shim.wire import start_message
from errands.runners.system import system

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from errands.ports.runner import Found, Report

IDLE_TIME = 5.0
BUSY_TIME = 1.0  # seconds until a run that the system had no room for is tried again
MOST_IDLE = 8
_TRIES = 3
_LOG = logging.getLogger("errands.pool")
_PAUSE = 0.05
_BACK_OFF = 1.0
_ZYGOTE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "shim", "zygote.py")
_PASSED_ON = ("ERRANDS_PLATFORM", "ERRANDS_BOOT_ID_FILE", "PATH")


class Shim:
    """A shim as the pool sees it: its channel, its zygote, and its current run."""

    channel: Channel
    launch: Launch | None = None
    base: Mapping[str, str] | None = None
    is_cancelled = False
    idle_since = 0.0

    def __init__(self, zygote: Channel) -> None:
        self.zygote = zygote


class ShimPool:
    """Run commands under reusable shims; implements `Runner` on the running asyncio loop."""

    def __init__(self, runs_dir: str, *, python: str = sys.executable) -> None:
        self.listener: Callable[[Report], None] = lambda _: None
        self._runs_dir = os.path.abspath(runs_dir)
        self._python = python
        self._system = system.choose()
        self._loop: asyncio.AbstractEventLoop
        self._zygote: Channel | None = None
        self._zygote_pid = 0
        self._failures = 0
        self._is_closed = False
        self._running: dict[str, Shim] = {}
        self._idle: list[Shim] = []
        self._expiry: asyncio.TimerHandle | None = None
        self._adopted: dict[str, Adoption] = {}
        self._queued: dict[str, Launch] = {}
        self._delayed: dict[str, tuple[Launch, asyncio.TimerHandle]] = {}
        self._sweeping: dict[str, tuple[str, int]] = {}

    async def open(self) -> None:
        """Start the zygote."""
        os.makedirs(self._runs_dir, 0o700, exist_ok=True)
        self._loop = asyncio.get_running_loop()
        self._start_zygote()

    async def close(self) -> None:
        """Close all channels and the zygote; shims finish their runs without us."""
        self._is_closed = True
        if self._expiry is not None:
            self._expiry.cancel()
        for _, timer in self._delayed.values():
            timer.cancel()
        self._delayed.clear()
        self._queued.clear()
        for shim in [*self._running.values(), *self._idle]:
            shim.channel.close()
        for adopted in self._adopted.values():
            adopted.close()
        self._running.clear()
        self._idle.clear()
        self._adopted.clear()
        if self._zygote is not None:
            self._zygote.close()
            await asyncio.to_thread(wait_for, self._zygote_pid)

    def start(self, launch: Launch) -> None:
        """Start a run on an idle shim, or on a new one; without a zygote, queue it for the next one."""
        if self._idle:
            self._assign(self._idle.pop(), launch)
        elif self._zygote is None:
            self._queued[launch.run_id] = launch
        else:
            try:
                shim = self._new_shim(self._zygote)
            except OSError as error:
                self._delay(launch, str(error.strerror))
            else:
                self._assign(shim, launch)

    def stop(self, run_id: str, *, grace: float) -> None:
        """End the run's whole tree; its `Ended` follows."""
        if shim := self._running.get(run_id):
            shim.is_cancelled = True
            shim.channel.send({"op": "cancel", "run": run_id, "grace": grace})
        elif delayed := self._delayed.pop(run_id, None):
            delayed[1].cancel()
            self._end(run_id, delayed[0].attempt, Ending(stop="cancel"))
        elif queued := self._queued.pop(run_id, None):
            self._end(run_id, queued.attempt, Ending(stop="cancel"))
        elif adopted := self._adopted.get(run_id):
            adopted.cancel()

    def pause(self, run_id: str, *, wanted: bool) -> bool:
        """Stop all processes of a run until further notice, or continue them; False if that is impossible.

        What is wanted is on disk first: a shim that starts later, or that the next pool adopts, finds it.
        """
        rundir.want_pause(os.path.join(self._runs_dir, run_id), wanted)
        if shim := self._running.get(run_id):
            shim.channel.send({"op": "pause", "run": run_id})
        elif adopted := self._adopted.get(run_id):
            return adopted.look_at_pause()
        return True

    def look(self, task_ids: Collection[str] | None) -> None:
        """Do nothing: every run of a pool has a process here."""

    def knows(self, run_id: str) -> bool:
        """Return whether this pool is responsible for a run."""
        known = (self._running, self._queued, self._delayed, self._adopted, self._sweeping)
        return any(run_id in each for each in known)

    def recover(self, run_id: str, *, attempt: int) -> Found:
        """Find out what happened to a run that another pool started."""
        if self.knows(run_id):
            return Alive(run_id=run_id, attempt=attempt, pid=None)
        directory = os.path.join(self._runs_dir, run_id)
        if run_record.was_removed(directory, attempt):
            self.sweep(run_id, directory, attempt)
            return Alive(run_id=run_id, attempt=attempt, pid=None)
        if run_record.write_tombstone(directory, attempt):
            return NotStarted(run_id=run_id, attempt=attempt)
        if self._adopt(run_id, directory, attempt):
            found = run_record.read(directory, attempt)
            return Alive(run_id=run_id, attempt=attempt, pid=found.pid if found else None)
        found = run_record.read(directory, attempt)
        if found is None or found.exit is not None:
            return Ended(run_id=run_id, attempt=attempt, ending=_ending(found))
        if found.boot != self._system.boot_id():
            return Ended(run_id=run_id, attempt=attempt, ending=Ending(interrupted=True, pid=found.pid))
        self.sweep(run_id, directory, attempt)
        return Alive(run_id=run_id, attempt=attempt, pid=found.pid)

    def _assign(self, shim: Shim, launch: Launch) -> None:
        message = start_message(launch)
        if shim.base is not launch.base:  # most runs have the same base as the previous one
            message["base"] = dict(launch.base)
        shim.launch, shim.base = launch, launch.base
        self._running[launch.run_id] = shim
        shim.channel.send(message)

    def _delay(self, launch: Launch, reason: str) -> None:
        """Start a run later, because the system has no room for it now."""
        _LOG.warning("run %s cannot start yet: %s", launch.run_id, reason)
        timer = self._loop.call_later(BUSY_TIME, self._start_delayed, launch)
        self._delayed[launch.run_id] = launch, timer

    def _start_delayed(self, launch: Launch) -> None:
        del self._delayed[launch.run_id]
        self.start(launch)

    def _new_shim(self, zygote: Channel) -> Shim:
        ours, theirs = socket.socketpair()
        shim = Shim(zygote)
        shim.channel = Channel(
            self._loop,
            ours,
            on_message=lambda message: self._on_message(shim, message),
            on_end=lambda: self._shim_ended(shim),
        )
        zygote.pass_on(theirs)
        return shim

    def _on_message(self, shim: Shim, message: tuple[Any, ...]) -> None:
        what, run_id, attempt, *rest = message
        if what == "started":
            pid, at = rest[0], datetime.fromtimestamp(float(rest[1]), UTC)
            self.listener(Started(run_id=run_id, attempt=attempt, pid=pid, at=at))
            return
        del self._running[run_id]
        launch, is_cancelled = shim.launch, shim.is_cancelled
        shim.launch, shim.is_cancelled = None, False
        self._keep_idle(shim)
        if what == "refused":
            self.listener(Refused(run_id=run_id, attempt=attempt))
        elif what == "ended":
            self._end(run_id, attempt, run_record.ending(rest[0]))
        elif is_cancelled:
            self._end(run_id, attempt, Ending(stop="cancel"))
        else:
            assert launch is not None
            self._delay(launch, rest[0])

    def _end(self, run_id: str, attempt: int, ending: Ending) -> None:
        self.listener(Ended(run_id=run_id, attempt=attempt, ending=ending))

    def _keep_idle(self, shim: Shim) -> None:
        """Keep a shim for the next run, up to IDLE_TIME."""
        shim.idle_since = self._loop.time()
        self._idle.append(shim)
        if len(self._idle) > MOST_IDLE:
            self._idle.pop(0).channel.close()
        if self._expiry is None:
            self._expiry = self._loop.call_later(IDLE_TIME, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        now = self._loop.time()
        while self._idle and now - self._idle[0].idle_since >= IDLE_TIME:
            self._idle.pop(0).channel.close()
        if self._idle:
            self._expiry = self._loop.call_at(self._idle[0].idle_since + IDLE_TIME, self._expire)

    def _shim_ended(self, shim: Shim) -> None:
        """Report the run of a shim that is gone, or start it again if it never started."""
        launch = shim.launch
        if launch is None:
            if shim in self._idle:
                self._idle.remove(shim)
            return
        del self._running[launch.run_id]
        found = run_record.read(launch.directory, launch.attempt)
        if found is None and not run_record.was_removed(launch.directory, launch.attempt):
            # The shim died before it created the run record, and no other shim has this launch.
            self._start_again(launch, shim)
        elif found is not None and found.exit is not None:
            self._end(launch.run_id, launch.attempt, _ending(found))
        else:
            self.sweep(launch.run_id, launch.directory, launch.attempt)

    def _start_again(self, launch: Launch, shim: Shim) -> None:
        shim.zygote.receive_all()  # did the zygote die, too, before it forked the shim?
        if shim.is_cancelled:
            self._end(launch.run_id, launch.attempt, Ending(stop="cancel"))
        elif self._failures >= _TRIES:
            self._give_up(launch)
        elif shim.zygote is self._zygote and not shim.idle_since:
            self._delay(launch, "its supervisor (shim) could not be forked, or was killed at once")
        else:
            self.start(launch)

    def _give_up(self, launch: Launch) -> None:
        error = f"the supervisor of processes cannot be started with {self._python}"
        self._end(launch.run_id, launch.attempt, Ending(error=error))

    def _adopt(self, run_id: str, directory: str, attempt: int) -> bool:
        """Watch a run whose shim is alive; checking the lock again proves that we watch the right process."""
        found = run_record.read(directory, attempt)
        if found is None or not run_record.is_locked(directory, attempt):
            return False
        if found.boot not in (None, self._system.boot_id()):
            return False
        adopted = Adoption(
            self._loop,
            self._system,
            directory=directory,
            attempt=attempt,
            shim=found.shim,
            on_end=lambda: self._adopted_ended(run_id),
        )
        if not run_record.is_locked(directory, attempt):
            adopted.close()
            return False
        self._adopted[run_id] = adopted
        return True

    def _adopted_ended(self, run_id: str) -> None:
        adopted = self._adopted.pop(run_id)
        found = run_record.read(adopted.directory, adopted.attempt)
        if found is None or found.exit is not None:
            self._end(run_id, adopted.attempt, _ending(found))
        else:
            self.sweep(run_id, adopted.directory, adopted.attempt)

    def sweep(self, run_id: str, directory: str, attempt: int) -> None:
        """Let the zygote end the processes of a run whose shim is gone; its `Ended` follows."""
        self._sweeping[run_id] = directory, attempt
        if self._zygote is not None:
            self._ask_for_sweep(run_id)

    def _ask_for_sweep(self, run_id: str) -> None:
        assert self._zygote is not None
        self._zygote.send(("sweep", run_id, record_path(*self._sweeping[run_id])))

    def _start_zygote(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._zygote_pid = os.posix_spawn(
                self._python,
                [self._python, *self._zygote_argv()],
                self._zygote_environ(),
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0),
                ],
            )
        except (OSError, ValueError):
            ours.close()
            raise
        finally:
            theirs.close()
        self._zygote = Channel(
            self._loop, ours, on_message=self._on_zygote_message, on_end=self._zygote_ended
        )
        for run_id in self._sweeping:
            self._ask_for_sweep(run_id)
        queued, self._queued = self._queued, {}
        for launch in queued.values():
            self.start(launch)

    def _zygote_argv(self) -> list[str]:
        return ["-I", "-S", "-X", "utf8", _ZYGOTE, self._runs_dir]

    def _zygote_environ(self) -> dict[str, str]:
        return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}

    def _on_zygote_message(self, message: tuple[Any, ...]) -> None:
        if message[0] == "ready":
            self._failures = 0
            return
        run_id = message[1]
        directory, attempt = self._sweeping.pop(run_id)
        if self._adopt(run_id, directory, attempt):
            return  # its shim is alive after all
        self._end(run_id, attempt, _ending(run_record.read(directory, attempt)))

    def _zygote_ended(self) -> None:
        """Start another zygote; the shims of this one live on, and queued runs wait for the next one."""
        self._zygote = None
        status = wait_for(self._zygote_pid)
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            self._failures += 1  # it was not killed, so it does not work
        self._replace_zygote()

    def _replace_zygote(self) -> None:
        """Start another zygote soon; after several failures, fail the queued runs and keep trying."""
        if self._failures >= _TRIES:
            queued, self._queued = self._queued, {}
            for launch in queued.values():
                self._give_up(launch)
        self._loop.call_later(_PAUSE if self._failures < _TRIES else _BACK_OFF, self._restart_zygote)

    def _restart_zygote(self) -> None:
        if self._is_closed:
            return
        try:
            self._start_zygote()
        except OSError as error:
            _LOG.warning("%s cannot be started: %s", self._python, error.strerror)
            self._failures += error.errno not in SCARCE
            self._replace_zygote()


def _ending(found: run_record.RunRecord | None) -> Ending:
    """Return how a run without a living shim ended, according to its run record."""
    if found is None or found.exit is None:
        return Ending(lost="its record does not say how it ended")
    return run_record.ending(found.exit)


def wait_for(pid: int) -> int:
    try:
        return os.waitpid(pid, 0)[1]
    except ChildProcessError:
        return 0  # other code in this process waits for all children
