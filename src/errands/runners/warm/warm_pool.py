"""The warm pool: runs that are forked from a zygote which has a large library loaded.

It is an optimisation that nothing depends on: runs that it cannot start, or not exactly as a new process
would, are started by the cold pool, which also sweeps when the warm zygote is gone.
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
# Variables that affect an interpreter before any of our code runs; the zygote notes those that modules read.
_RELEVANT = ("PYTHON", "LD_", "LC_", "LANG", "GLIBC_", "MALLOC_", "OPENSSL_", "SETUPTOOLS_", "COVERAGE_")
_OF_A_RUN = ("ERRANDS_", "TRACEPARENT", "TRACESTATE")
_OPTIONS = ("-P", "-m")  # between interpreter and module; only runs with exactly these can be forked
_ROOM = 8192  # bytes reserved for the variables that a fork shows; longer than any path


class WarmPool(ShimPool):
    """Keep a zygote while there are runs for it, and `keep` seconds longer."""

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
        self._relevant_names: tuple[str, ...] = ()
        self._sources: list[tuple[str, int]] = []
        self._not_before = 0.0
        self._used_at = 0.0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._exiting: set[int] = set()

    async def open(self) -> None:
        """Remember the event loop; the first run starts the zygote."""
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._unload()
        await super().close()
        while self._exiting:
            await asyncio.to_thread(wait_for, self._exiting.pop())

    def start(self, launch: Launch) -> None:
        """Fork the process of a run, or start it cold and load the library for the next one."""
        variables = {**launch.base, **launch.env}
        if self.is_ready and not self._is_current():
            self._unload()
        if self.is_ready and self._is_forkable(variables, launch):
            self._used_at = self._loop.time()
            super().start(launch)
            return
        self._cold.start(launch)
        if self._zygote is None and self._loop.time() >= self._not_before:
            self._load(variables)

    def sweep(self, run_id: str, directory: str, attempt: int) -> None:
        """Sweep with the zygote that inherited the processes of the run: the warm one, if it is alive."""
        if self.is_ready:
            super().sweep(run_id, directory, attempt)
        else:
            self._cold.sweep(run_id, directory, attempt)

    def _is_forkable(self, variables: Mapping[str, str], launch: Launch) -> bool:
        """Return whether a fork would be indistinguishable from a new process."""
        words = launch.steps[0].argv
        if len(launch.steps) != 1 or words[:-1] != (self._python, *_OPTIONS):
            return False
        folders = variables.get("PYTHONPATH", "")
        if folders and not all(map(os.path.isabs, folders.split(os.pathsep))):
            return False  # a relative path means a different folder in every directory
        return self._relevant(variables) == self._relevant(self._environ)

    def _relevant(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {
            name: value
            for name, value in variables.items()
            if name in self._relevant_names or name.startswith(_RELEVANT)
        }

    def _is_current(self) -> bool:
        """Return whether the library is unchanged since it was loaded."""
        try:
            return all(os.stat(path).st_mtime_ns == time for path, time in self._sources)
        except OSError:
            return False

    def _load(self, variables: Mapping[str, str]) -> None:
        """Start a zygote in the background, with the environment of a run."""
        self._environ = {name: value for name, value in variables.items() if not name.startswith(_OF_A_RUN)}
        try:
            self._start_zygote()
        except (OSError, ValueError) as error:  # no room, or an invalid variable name
            self._stay_cold(f"{self._python} cannot be started: {error}")
            return
        self._used_at = self._loop.time()
        if self._idle_timer is None:
            self._idle_timer = self._loop.call_later(self._keep, self._unload_if_idle)

    def _unload(self) -> None:
        """Close the channel to the zygote, so that it exits; its shims finish their runs."""
        if self._zygote is not None:
            self._zygote.close()
            self._drop_zygote(exits_itself=self.is_ready)

    def _unload_if_idle(self) -> None:
        now = self._loop.time()
        if self._running or self._delayed or self._sweeping:
            self._used_at = now
        self._idle_timer = None
        if now - self._used_at >= self._keep:
            self._unload()
        elif self._zygote is not None:
            self._idle_timer = self._loop.call_at(self._used_at + self._keep, self._unload_if_idle)

    def _reap(self, pid: int) -> None:
        """Reap a zygote that is exiting, without blocking."""
        if pid not in self._exiting:
            return
        try:
            is_gone = bool(os.waitpid(pid, os.WNOHANG)[0])
        except ChildProcessError:
            is_gone = True
        if is_gone:
            self._exiting.discard(pid)
        else:
            self._loop.call_later(_PAUSE, self._reap, pid)

    def _drop_zygote(self, *, exits_itself: bool) -> None:
        if not exits_itself:
            tree.send([self._zygote_pid], signal.SIGKILL)  # it is still loading, or hangs
        self._exiting.add(self._zygote_pid)
        self._reap(self._zygote_pid)
        self._zygote = None
        self.is_ready = False
        for shim in self._idle:
            shim.channel.close()  # the next zygote may have a different environment or library
        self._idle.clear()
        sweeping, self._sweeping = self._sweeping, {}
        for run_id, (directory, attempt) in sweeping.items():
            self._cold.sweep(run_id, directory, attempt)

    def _stay_cold(self, reason: str) -> None:
        _LOG.warning("agents start cold: %s", reason)
        self._not_before = self._loop.time() + RETRY

    def _on_zygote_message(self, message: tuple[Any, ...]) -> None:
        match message:
            case "ready", names, sources:
                self._relevant_names, self._sources = tuple(names), sources
                self.is_ready = True
            case "unfit", reason:
                self._stay_cold(reason)
            case _:
                super()._on_zygote_message(message)

    def _zygote_ended(self) -> None:
        """Continue cold; the next run starts another zygote."""
        if not self.is_ready and self._loop.time() >= self._not_before:
            self._stay_cold("the process that loads their library died")
        self._drop_zygote(exits_itself=False)

    def _start_again(self, launch: Launch, shim: Shim) -> None:
        """Start a run cold that provably did not start here."""
        if shim.is_cancelled:
            self._end(launch.run_id, launch.attempt, Ending(stop="cancel"))
        else:
            self._cold.start(launch)

    def _keep_idle(self, shim: Shim) -> None:
        if shim.zygote is self._zygote:
            super()._keep_idle(shim)
        else:
            shim.channel.close()

    def _zygote_argv(self) -> list[str]:
        return [*_OPTIONS, "errands.runners.warm.warm_zygote", self._runs_dir, *self._library()]

    def _zygote_environ(self) -> dict[str, str]:
        # `_` reserves room: forks overwrite the memory of these variables with their own.
        return {**super()._zygote_environ(), **self._environ, "_": "." * _ROOM}
