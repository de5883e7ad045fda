"""The warm pool: runs that are forked from a zygote which has a large library loaded.

It is a convenience and nothing hangs on it: what it cannot begin, or not as a new process would, the other
pool begins; and what its zygote can sweep no more, that of the other pool sweeps.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from errands.model.ending import Ending
from errands.runners.pool.pool import ShimPool, wait_for
from errands.runners.system import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from errands.ports.runner import Launch
    from errands.runners.pool.pool import Shim

RETRY = 60.0  # seconds until a library that could not be loaded is tried again
_LOG = logging.getLogger("errands.pool")
_PAUSE = 0.05
# What decides about an interpreter before any of our code runs; what modules look at, the zygote notes.
_DECIDING = ("PYTHON", "LD_", "LC_", "LANG", "GLIBC_", "MALLOC_", "OPENSSL_", "SETUPTOOLS_", "COVERAGE_")
_OF_A_RUN = ("ERRANDS_", "TRACEPARENT", "TRACESTATE")
_OPTIONS = ("-P", "-m")  # between the interpreter and the module: what a run must have to be a fork
_ROOM = 8192  # bytes of variables that a fork is sure to have room for: longer than any path


class WarmPool(ShimPool):
    """Have a zygote while there are runs for it, and `keep` seconds longer."""

    def __init__(
        self,
        runs_dir: str,
        *,
        library: Callable[[], Sequence[str]],
        cold: ShimPool,
        keep: float,
        python: str = sys.executable,
    ) -> None:
        super().__init__(runs_dir, python=python)
        self.is_ready = False
        self._library = library
        self._cold = cold
        self._keep = keep
        self._environ: dict[str, str] = {}
        self._deciding: tuple[str, ...] = ()
        self._places: list[tuple[str, int]] = []
        self._not_before = 0.0
        self._used_at = 0.0
        self._idleness: asyncio.TimerHandle | None = None
        self._leaving: set[int] = set()

    async def open(self) -> None:
        """Get ready; the zygote is started when there is a run for it."""
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        if self._idleness is not None:
            self._idleness.cancel()
        self._unload()
        await super().close()
        while self._leaving:
            await asyncio.to_thread(wait_for, self._leaving.pop())

    def start(self, launch: Launch) -> None:
        """Fork the process of a run, or have it started cold; then get ready for the next."""
        variables = {**launch.base, **launch.env}
        if self.is_ready and not self._is_current():
            self._unload()
        if self.is_ready and self._is_like(variables, launch):
            self._used_at = self._loop.time()
            super().start(launch)
            return
        self._cold.start(launch)
        if self._zygote is None and self._loop.time() >= self._not_before:
            self._load(variables)

    def sweep(self, run_id: str, directory: str, attempt: int) -> None:
        """Have the processes of a run ended by whoever inherited them: our zygote, if it lives."""
        if self.is_ready:
            super().sweep(run_id, directory, attempt)
        else:
            self._cold.sweep(run_id, directory, attempt)

    def _is_like(self, variables: Mapping[str, str], launch: Launch) -> bool:
        """Tell whether a fork would be what a new process would be."""
        words = launch.steps[0].argv
        if len(launch.steps) != 1 or words[:-1] != (self._python, *_OPTIONS):
            return False
        folders = variables.get("PYTHONPATH", "")
        if folders and not all(map(os.path.isabs, folders.split(os.pathsep))):
            return False  # it means another place in every directory
        return self._decisive(variables) == self._decisive(self._environ)

    def _decisive(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {
            name: value
            for name, value in variables.items()
            if name in self._deciding or name.startswith(_DECIDING)
        }

    def _is_current(self) -> bool:
        """Tell whether nothing of the library was installed or edited since it was loaded."""
        try:
            return all(os.stat(path).st_mtime_ns == time for path, time in self._places)
        except OSError:
            return False

    def _load(self, variables: Mapping[str, str]) -> None:
        """Start a zygote in the background, with the variables of a run."""
        self._environ = {name: value for name, value in variables.items() if not name.startswith(_OF_A_RUN)}
        try:
            self._start_zygote()
        except (OSError, ValueError) as error:  # there is no room, or a name that no variable can have
            self._give_rest(f"{self._python} cannot be started: {error}")
            return
        self._used_at = self._loop.time()
        if self._idleness is None:
            self._idleness = self._loop.call_later(self._keep, self._look_for_idleness)

    def _unload(self) -> None:
        """Let the zygote go; what runs goes on."""
        if self._zygote is not None:
            self._zygote.close()
            self._lose_zygote(is_leaving=self.is_ready)

    def _look_for_idleness(self) -> None:
        now = self._loop.time()
        if self._running or self._delayed or self._sweeping:
            self._used_at = now
        self._idleness = None
        if now - self._used_at >= self._keep:
            self._unload()
        elif self._zygote is not None:
            self._idleness = self._loop.call_at(self._used_at + self._keep, self._look_for_idleness)

    def _take_leave(self, pid: int) -> None:
        """See a zygote out that was let go of, without waiting for it."""
        if pid not in self._leaving:
            return
        try:
            is_gone = bool(os.waitpid(pid, os.WNOHANG)[0])
        except ChildProcessError:
            is_gone = True
        if is_gone:
            self._leaving.discard(pid)
        else:
            self._loop.call_later(_PAUSE, self._take_leave, pid)

    def _lose_zygote(self, *, is_leaving: bool) -> None:
        if not is_leaving:
            tree.send([self._zygote_pid], signal.SIGKILL)  # it is still loading, or hangs without a channel
        self._leaving.add(self._zygote_pid)
        self._take_leave(self._zygote_pid)
        self._zygote = None
        self.is_ready = False
        for shim in self._idle:
            shim.channel.close()  # the next zygote may be another one in many ways
        self._idle.clear()
        sweeping, self._sweeping = self._sweeping, {}
        for run_id, (directory, attempt) in sweeping.items():
            self._cold.sweep(run_id, directory, attempt)

    def _give_rest(self, reason: str) -> None:
        _LOG.warning("agents start cold: %s", reason)
        self._not_before = self._loop.time() + RETRY

    def _hear_zygote(self, message: tuple[Any, ...]) -> None:
        match message:
            case "ready", names, places:
                self._deciding, self._places = tuple(names), places
                self.is_ready = True
            case "unfit", reason:
                self._give_rest(reason)
            case _:
                super()._hear_zygote(message)

    def _zygote_ended(self) -> None:
        """Go on without; the next run starts another zygote."""
        if not self.is_ready and self._loop.time() >= self._not_before:
            self._give_rest("the process that loads their library died")
        self._lose_zygote(is_leaving=False)

    def _start_again(self, launch: Launch, shim: Shim) -> None:
        """Begin a run elsewhere that provably did not begin here."""
        if shim.is_cancelled:
            self._end(launch.run_id, Ending(stop="cancel"))
        else:
            self._cold.start(launch)

    def _rest(self, shim: Shim) -> None:
        if shim.zygote is self._zygote:
            super()._rest(shim)
        else:
            shim.channel.close()

    def _zygote_words(self) -> list[str]:
        return [*_OPTIONS, "errands.runners.warm.warm_zygote", self._runs_dir, *self._library()]

    def _zygote_environ(self) -> dict[str, str]:
        # The last one makes room: forks write their own variables over these.
        return {**super()._zygote_environ(), **self._environ, "_": "." * _ROOM}
