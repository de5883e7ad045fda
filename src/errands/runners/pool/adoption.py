"""An adopted run: started by another pool, and watched by this one until it is over.

A pid proves nothing, so the lock on the run record is checked again once the shim is being watched.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from errands.runners.shim import run_record

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from errands.runners.system.system import System

_POLL_PERIOD = 0.2


class Adoption:
    """Call `on_end` once the shim of a run is gone; watch its process, or else poll its lock."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        system: System,
        *,
        directory: str,
        attempt: int,
        shim: int | None,
        on_end: Callable[[], None],
    ) -> None:
        self.directory = directory
        self.attempt = attempt
        self._loop = loop
        self._system = system
        self._shim = shim
        self._on_end = on_end
        self._timer: asyncio.TimerHandle | None = None
        self._watched = system.watch(shim) if shim is not None else None
        if self._watched is not None:
            loop.add_reader(self._watched, self._end)
        else:
            self._poll_later()

    def cancel(self) -> None:
        """Ask the shim to end its run."""
        if self._shim is not None:
            self._system.signal_shim(self._watched, self._shim, signal.SIGTERM)

    def look_at_pause(self) -> bool:
        """Tell the shim to look whether its run should be paused; return False if it is too old to know."""
        found = run_record.read(self.directory, self.attempt)
        if self._shim is None or found is None or found.version < 2:
            return False  # the signal would kill it
        self._system.signal_shim(self._watched, self._shim, signal.SIGUSR1)
        return True

    def close(self) -> None:
        """Stop watching."""
        if self._watched is not None:
            self._loop.remove_reader(self._watched)
            os.close(self._watched)
        if self._timer is not None:
            self._timer.cancel()

    def _poll_later(self) -> None:
        self._timer = self._loop.call_later(_POLL_PERIOD, self._poll)

    def _poll(self) -> None:
        if run_record.is_locked(self.directory, self.attempt):
            self._poll_later()
        else:
            self._end()

    def _end(self) -> None:
        self.close()
        self._on_end()
