"""A shim: the parent of the processes of one run at a time, and the only one who knows them all.

It hears orders on its own channel to the pool. When the channel ends (the pool's process was killed)
it goes on to the end of its run, writes the record and leaves: nothing depends on being heard.
"""

from __future__ import annotations

import os
import select

from errands.ports.home import daemon_pid
from errands.runners.shim.run import Run
from errands.runners.shim.run_record_writer import BusyError, RefusedError
from errands.runners.shim.wire import Frames, frame
from errands.runners.system import tree
from errands.runners.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.runners.shim.run import FileActions
    from errands.runners.system.system import System

ALL_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


class Shim:
    """Carry out runs, one after the other, as the pool orders them."""

    def __init__(self, system: System, channel: int, *, boot: str) -> None:
        self.system = system
        self.boot = boot
        self.pid = os.getpid()
        self.poll = select.poll()
        self.is_alone = True
        self.groups: list[int] = []
        self.base: dict[str, str] = {}
        self._channel = channel
        self._frames = Frames()
        self._run: Run | None = None
        system.become_subreaper()
        self._wake, self._wakes = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._wakes, False)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, _hear)
        self.poll.register(channel, select.POLLIN)
        self.poll.register(self._wake, select.POLLIN)

    def serve(self) -> None:
        """Carry out orders until nobody gives any."""
        while self.take_turn():
            pass

    def take_turn(self) -> bool:
        """Carry out the order that was given, or wait for one; tell whether another may come."""
        if self._run is None:
            self.turn(None)
            return self._channel >= 0 or self._run is not None
        self._supervise(self._run)
        if self._run.survivors:
            os._exit(1)  # the next run would be blamed for them; the zygote has another try
        self._run = None
        self.groups.clear()
        # Who is not alone has a daemon below, which the next run would be blamed for.
        return self._channel >= 0 and self.is_alone

    def close(self) -> None:
        """Give back what a shim holds; only a rehearsal outlives its shim."""
        self._hang_up()
        signal.set_wakeup_fd(-1)
        os.close(self._wake)
        os.close(self._wakes)

    def turn(self, timeout: float | None) -> None:
        """Wait until something happens, no longer than told, and see to it."""
        for file, event in self.poll.poll(None if timeout is None else max(0, int(timeout * 1000) + 1)):
            if file == self._wake:
                self._hear_signals()
            elif file == self._channel:
                self._hear_pool()
            elif self._run is not None:
                self._run.ready(file, event)

    def spawn(self, path: str, argv: list[str], env: dict[str, str], actions: FileActions) -> int:
        """Start a command as the leader of its own session; nothing of ours comes with it."""
        return os.posix_spawn(
            path,
            argv,
            env,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=ALL_SIGNALS,
        )

    def reap(self) -> None:
        """Take note of every child that ended: the run's commands, and orphans that came to us."""
        while not self.is_alone:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self.is_alone = True
                return
            if not pid:
                return
            if self._run is not None:
                self._run.reaped(pid, status, usage)

    def living(self, *, most: int = 1 << 22) -> list[int]:
        """List the living processes of the run, `most` at most; a daemon below us is not one of them."""
        self.reap()
        below = self.system.descendants(self.pid, groups=self.groups, most=most)
        found = [pid for pid in below if self.system.is_alive(pid)]
        if not found or self._run is None:
            return found
        daemon = daemon_pid(self._run.directory)
        if daemon not in found:
            return found
        spared = {daemon, *self.system.descendants(daemon)}
        return [pid for pid in found if pid not in spared]

    def report(self, message: tuple[object, ...]) -> None:
        """Tell the pool; if it is gone, the record tells the next one."""
        if self._channel < 0:
            return
        try:
            os.write(self._channel, frame(message))
        except OSError:
            self._hang_up()

    def _supervise(self, run: Run) -> None:
        try:
            self.report(("ended", run.id, run.carry_out()))
        except RefusedError:
            self.report(("refused", run.id))
        except BusyError as error:
            self.report(("busy", run.id, str(error)))
        except OSError as error:
            self._give_up(run, f"{error.strerror}: {error.filename}" if error.filename else str(error))
        except Exception as error:  # noqa: BLE001 - a fault of ours ends this run, said so, and no other
            self._give_up(run, f"{type(error).__name__}: {error}")

    def _give_up(self, run: Run, reason: str) -> None:
        """End a run that cannot be supervised; a fault of ours must not leave processes behind."""
        run.survivors = tree.kill(self.living, by_group=True)
        if run.was_started:
            self.report(("ended", run.id, {"lost": f"its supervisor failed: {reason}"}))
        else:
            self.report(("ended", run.id, {"error": f"the run could not be set up: {reason}"}))

    def _hear_signals(self) -> None:
        heard = os.read(self._wake, 64)
        if signal.SIGCHLD in heard:
            self.reap()
        if signal.SIGTERM in heard:  # sent by a pool that adopted the run and has no channel to us
            if self._run is not None:
                self._run.cancel(None)
            else:
                self._hang_up()

    def _hear_pool(self) -> None:
        try:
            received = os.read(self._channel, 65536)
        except OSError:
            received = b""
        if not received:
            return self._hang_up()
        for order in self._frames.feed(received):
            if order["op"] == "start":
                self.base = order.get("base", self.base)
                self._run = Run(self, order)
            elif self._run is not None and order["run"] == self._run.id:
                self._run.cancel(order["grace"])

    def _hang_up(self) -> None:
        if self._channel >= 0:
            self.poll.unregister(self._channel)
            os.close(self._channel)
            self._channel = -1


def _hear(number: int, frame: object) -> None:
    """Do nothing: the number of the signal waits in the wake-up pipe."""
