"""The janitor: removes what is past its time, in small steps, and what a crash left half removed.

Rows go before files, so that a task is never shown without its output; a directory whose row is gone is swept
on the next round.
"""

from __future__ import annotations

import logging
import os
from datetime import timedelta

from errands.config import Config
from errands.engine.engine import remove_tree
from errands.engine.home import Home
from errands.model.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.clock import Clock
    from errands.ports.store import Store

BATCH = 500
_LOG = logging.getLogger("errands.janitor")


class Janitor:
    def __init__(self, store: Store, home: Home, config: Config, clock: Clock) -> None:
        self._store = store
        self._home = home
        self._config = config
        self._clock = clock

    def sweep(self) -> int:
        """Remove one batch of what has expired; give the number of tasks and runs removed."""
        retention = self._config.retention
        if not retention.enabled:
            return 0
        now = self._clock.now()
        with self._store:
            ids = self._store.expired(before=now - retention.keep, limit=BATCH)
            runs = self._store.remove(ids)
            past = self._store.superseded(before=now - retention.history, limit=BATCH)
            self._store.remove_runs(past)
            if not ids:
                self._store.forget_notices(before=now - retention.keep)
                self._store.forget_environments()
                self._store.forget_slots(before=now - retention.history)
                self._store.forget_signals(before=now - retention.history)
                self._store.forget_ended_sessions()
                self._store.forget_refusals(before=now - retention.keep)
        for run_id in (*runs, *past):
            remove_tree(self._home.run(run_id))
        if ids or past:
            _LOG.info("removed %d finished tasks and %d earlier runs", len(ids), len(past))
        return len(ids) + len(past)

    def sweep_orphans(self) -> int:
        """Remove run directories that no task owns, but for the youngest, which may be about to be owned."""
        swept = 0
        old = self._clock.now() - timedelta(hours=1)
        try:
            names = os.listdir(self._home.runs)
        except FileNotFoundError:
            return 0
        for name in names:
            try:
                self._store.run(name)
            except NotFound:
                path = self._home.run(name)
                if os.stat(path).st_mtime < old.timestamp():
                    remove_tree(path)
                    swept += 1
        return swept
