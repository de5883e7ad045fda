"""A program's connection: it embeds the daemon if none runs, and is a client of it otherwise."""

from __future__ import annotations

import logging
from collections.abc import Callable

from errands.engine.async_engine import AsyncEngine
from errands.engine.daemon.lock import DaemonLock
from errands.engine.daemon.loops import Loops
from errands.engine.engine import Engine

_LOG = logging.getLogger("errands")


class EngineConnection:
    """An async context manager; what is live or queued when it ends continues under the daemon."""

    def __init__(
        self,
        *,
        engine: Callable[[], Engine],
        loops: Callable[[bool], Loops] | None,
        boot: str,
        start_daemon: Callable[[], None],
    ) -> None:
        self._open_engine = engine
        self._make_loops = loops
        self._boot = boot
        self.start_daemon = start_daemon
        self._loops: Loops | None = None
        self._lock: DaemonLock | None = None

    async def __aenter__(self) -> AsyncEngine:
        engine = self._engine = self._open_engine()
        if self._make_loops is None:
            if not engine.bell.is_answered():
                self.start_daemon()
        else:
            lock = DaemonLock(engine.home)
            if lock.take("embedded", engine.config.lanes, boot=self._boot):
                self._lock = lock
                try:
                    self._loops = self._make_loops(lock.is_after_reboot)
                    await self._loops.open()
                except BaseException:
                    lock.release()
                    engine.close()
                    raise
        return AsyncEngine(engine, ensure_daemon=self._ensure_daemon)

    async def __aexit__(self, *error: object) -> None:
        try:
            if self._loops is not None:
                await self._loops.close()
        finally:
            if self._lock is not None:
                self._lock.release()
            try:
                counts = self._engine.store.counts()
                store = self._engine.store
                awaited = store.next_due("schedules") is not None or bool(store.queues())
            finally:
                self._engine.close()
            if (
                self._lock is not None
                and not self._failure()
                and (counts["pending"] or counts["running"] or awaited)
            ):
                self.start_daemon()

    def _failure(self) -> BaseException | None:
        """Return what ended the loops of this process, if something did."""
        failure = None if self._loops is None else self._loops.failure
        return failure.exception() if failure is not None and failure.done() else None

    def _ensure_daemon(self) -> None:
        """Start the daemon if the process that ran the loops died; raise what ended our own loops."""
        failure = self._failure()
        if failure is not None:
            raise failure
        if self._loops is None and not self._engine.bell.is_answered():
            _LOG.warning("no daemon runs for %s; starting one", self._engine.home.path)
            self.start_daemon()
