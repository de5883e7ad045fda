"""The janitor: removes what has expired, in small steps, and what a crash left half removed.

Rows go before files, so that a task is never shown without its output; a directory without a row is removed
by the next daemon. It blocks nothing: files are removed in a thread, rows a few at a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
from datetime import timedelta

from errands.config import Config
from errands.model.errors import NotFound
from errands.ports.home import Home
from errands.ports.rundir import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from errands.ports.clock import Clock
    from errands.ports.store import Store

BATCH = 500
LOOKS = 200  # directories checked at once
PAUSE = 0.02  # seconds between two checks
_LOG = logging.getLogger("errands.janitor")


class Janitor:
    def __init__(
        self,
        store: Store,
        home: Home,
        config: Config,
        clock: Clock,
        *,
        removed: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._home = home
        self._config = config
        self._clock = clock
        self._removed = removed

    async def sweep(self) -> int:
        """Remove one batch of what has expired; return the number of tasks and runs removed."""
        retention = self._config.retention
        if not retention.enabled:
            return 0
        now = self._clock.now()
        with self._store:
            ids = self._store.expired_tasks(before=now - retention.keep, limit=BATCH)
            runs = self._store.remove(ids, now=now)
            past = self._store.superseded_runs(before=now - retention.history, limit=BATCH)
            self._store.remove_runs(past)
            if not ids:
                self._store.purge(before=now - retention.keep, history_before=now - retention.history)
        self._removed(ids)
        await self._remove((*runs, *past))
        if ids:
            await self.sweep_homes()
        if ids or past:
            _LOG.info("removed %d finished tasks and %d earlier runs", len(ids), len(past))
        return len(ids) + len(past)

    def drop_sessions(self) -> None:
        """Start the process that drops the sessions whose tasks are gone."""
        if self._store.orphan_sessions(now=self._clock.now()):
            from errands.engine.agents.session_cleanup import start

            start(self._home)

    async def sweep_orphans(self) -> int:
        """Remove run directories without a task, except recent ones, whose task may not be written yet."""
        swept = 0
        old = (self._clock.now() - timedelta(hours=1)).timestamp()
        names = await asyncio.to_thread(_entries, self._home.runs)
        for start in range(0, len(names), LOOKS):
            orphans = [
                name
                for name in names[start : start + LOOKS]
                if not self._is_owned(name) and _is_older(self._home.run(name), old)
            ]
            await self._remove(orphans)
            await asyncio.sleep(PAUSE)
            swept += len(orphans)
        await self.sweep_homes()
        return swept

    async def sweep_homes(self) -> None:
        """Remove the home directories of sandboxes whose project has no task any more."""
        from errands.engine.walls.private_homes import remove_homes, unused_homes

        if unused := unused_homes(self._home, self._store):
            await asyncio.to_thread(remove_homes, unused)

    def _is_owned(self, name: str) -> bool:
        try:
            self._store.run(name)
        except NotFound:
            return False
        return True

    async def _remove(self, run_ids: Sequence[str]) -> None:
        if run_ids:
            await asyncio.to_thread(_remove_all, [self._home.run(each) for each in run_ids])


def _is_older(path: str, moment: float) -> bool:
    try:
        return os.lstat(path).st_mtime < moment
    except FileNotFoundError:
        return False  # a new zygote's warm-up


def _remove_all(directories: Sequence[str]) -> None:
    for each in directories:
        remove_tree(each)


def _entries(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []
