"""A shim: the parent of all processes of one run at a time.

It receives launches on its channel to the pool. When the channel closes because the pool's process was
killed, the shim supervises its run to the end, completes the run record and exits.
"""

from __future__ import annotations

import os
import select

from errands.ports.own_file import noted_pid
from errands.ports.rundir import lock_of, scratch_of
from errands.runners.shim.run import Run
from errands.runners.shim.run_record_writer import BusyError, RefusedError
from errands.runners.shim.wire import Frames, frame
from errands.runners.system import tree
from errands.runners.system.signals import ALL_SIGNALS, signal, wakeup_pipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.runners.shim.parent import FileActions
    from errands.runners.shim.read_only import ReadOnly
    from errands.runners.system.system import System

_LONGEST_WAIT = 86_400.0  # seconds


class Shim:
    """Execute the runs that the pool sends, one after the other."""

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
        self._read_only: ReadOnly | None = None
        system.become_subreaper()
        self._wake, self._wakes = wakeup_pipe(signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1)
        self.poll.register(channel, select.POLLIN)
        self.poll.register(self._wake, select.POLLIN)

    def serve(self) -> None:
        """Execute runs until the pool closes the channel."""
        while self.take_turn():
            pass
        if self._read_only is not None:
            self._read_only.close()

    def take_turn(self) -> bool:
        """Execute the current run, or wait for one; return whether another may come."""
        if self._run is None:
            self.turn(None)
            return self._channel >= 0 or self._run is not None
        self._supervise(self._run)
        if self._run.survivors:
            os._exit(1)  # the next run must not inherit them; the zygote tries to kill them again
        self._run = None
        self.groups.clear()
        if self._read_only is not None and not self._read_only.clear():
            return False
        # If a child is left it is a daemon that the run started, which the next run must not inherit.
        return self._channel >= 0 and self.is_alone

    def close(self) -> None:
        """Close everything; needed only by the zygote, which outlives the shim that it prewarms with."""
        self._close_channel()
        signal.set_wakeup_fd(-1)
        os.close(self._wake)
        os.close(self._wakes)

    def turn(self, timeout: float | None) -> None:
        """Wait for events, at most `timeout` seconds, and handle them."""
        # poll() takes at most 24 days; a caller that wants more looks again.
        wait = None if timeout is None else max(0, int(min(timeout, _LONGEST_WAIT) * 1000) + 1)
        for file, event in self.poll.poll(wait):
            if file == self._wake:
                self._on_signals()
            elif file == self._channel:
                self._on_message()
            elif self._run is not None:
                self._run.ready(file, event)

    def spawn(self, path: str, argv: list[str], env: dict[str, str], actions: FileActions) -> int:
        """Start a command as the leader of its own session, with default signals."""
        return os.posix_spawn(
            path,
            argv,
            env,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=ALL_SIGNALS,
        )

    def read_only(self, run_directory: str) -> ReadOnly | None:
        """Return the walls of runs that may only read; None where the system has none."""
        if self._read_only is None and not self.system.missing_walls():
            from errands.runners.shim.read_only import ReadOnly

            self._read_only = ReadOnly(self.system.walls(), scratch_of(run_directory, self.pid))
        return self._read_only

    def reap(self) -> None:
        """Reap every child that exited: commands of the run, and orphans that we inherited."""
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
        """List the living processes of the run, at most `most`; leave out a daemon that it started."""
        self.reap()
        below = self.system.descendants(self.pid, groups=self.groups, most=most)
        found = [pid for pid in below if self.system.is_alive(pid)]
        if not found or self._run is None:
            return found
        # Few runs have the daemon below them. To load `home` would take a shim 0.8 MB, and to try the lock
        # would add a third to what it costs to watch a limit.
        if noted_pid(lock_of(self._run.directory)) not in found:
            return found
        from errands.ports.home import daemon_pid

        daemon = daemon_pid(self._run.directory)
        if daemon not in found:
            return found
        spared = {daemon, *self.system.descendants(daemon)}
        return [pid for pid in found if pid not in spared]

    def report(self, message: tuple[object, ...]) -> None:
        """Send a report to the pool; if it is gone, the next one reads the run record."""
        if self._channel < 0:
            return
        try:
            os.write(self._channel, frame(message))
        except OSError:
            self._close_channel()

    def _supervise(self, run: Run) -> None:
        try:
            self.report(("ended", run.id, run.attempt, run.execute()))
        except RefusedError:
            self.report(("refused", run.id, run.attempt))
        except BusyError as error:
            self.report(("busy", run.id, run.attempt, str(error)))
        except OSError as error:
            self._give_up(run, f"{error.strerror}: {error.filename}" if error.filename else str(error))
        except Exception as error:  # noqa: BLE001 - a bug of ours ends this run only, and is reported
            self._give_up(run, f"{type(error).__name__}: {error}")

    def _give_up(self, run: Run, reason: str) -> None:
        """End a run that cannot be supervised, so that a bug of ours leaves no processes behind."""
        run.survivors = tree.kill(self.living, by_group=True)
        if run.was_started:
            self.report(("ended", run.id, run.attempt, {"lost": f"its supervisor failed: {reason}"}))
        else:
            self.report(("ended", run.id, run.attempt, {"error": f"the run could not be set up: {reason}"}))

    def _on_signals(self) -> None:
        arrived = os.read(self._wake, 64)
        if signal.SIGCHLD in arrived:
            self.reap()
        if signal.SIGUSR1 in arrived and self._run is not None:
            self._run.apply_pause()
        if signal.SIGTERM in arrived:  # sent by a pool that adopted the run and has no channel to us
            if self._run is not None:
                self._run.cancel(None)
            else:
                self._close_channel()

    def _on_message(self) -> None:
        try:
            received = os.read(self._channel, 65536)
        except OSError:
            received = b""
        if not received:
            return self._close_channel()
        for message in self._frames.feed(received):
            if message["op"] == "start":
                self.base = message.get("base", self.base)
                self._run = Run(self, message)
            elif self._run is not None and message["run"] == self._run.id:
                if message["op"] == "pause":
                    self._run.apply_pause()
                else:
                    self._run.cancel(message["grace"])

    def _close_channel(self) -> None:
        if self._channel >= 0:
            self.poll.unregister(self._channel)
            os.close(self._channel)
            self._channel = -1
