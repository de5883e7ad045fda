"""Growth: which running tasks have new output or progress.

No process reports it, so the files of their runs are looked at. The more runs there are, the longer the
pauses between two checks: they take a twentieth of the time at most.
"""

from __future__ import annotations

import os
import time

from errands.ports.rundir import LOG, PROGRESS, TAIL, own_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from errands.ports.home import Home
    from errands.ports.store import Store

    Marks = tuple[tuple[int, int], ...]

PAUSE = 0.04  # seconds between two checks
_SHARE = 20


class Growth:
    def __init__(self, home: Home, store: Store) -> None:
        self._home = home
        self._store = store
        self._seen: dict[str, Marks | None] = {}
        self._took = 0.0
        self.is_outdated = True  # whether other runs may be running by now

    @property
    def pause(self) -> float | None:
        """Return the seconds until the next look; None while nothing runs."""
        return max(PAUSE, _SHARE * self._took) if self._seen else None

    def look(self, tasks: Collection[str] | None = None) -> set[str]:
        """Return the tasks, of these or of all, whose output or progress has changed since the last look."""
        began = time.monotonic()
        is_wanted = tasks is None or bool(tasks)
        runs = list(self._store.running_attempts() if self.is_outdated and is_wanted else self._seen)
        if tasks is not None:
            runs = [run_id for run_id in runs if run_id.rpartition(".")[0] in tasks]
        self.is_outdated = False
        # A run that is seen for the first time may have printed something since its start was announced;
        # its files are looked at from the second time on, because most runs are short.
        now = {run_id: marks(self._home.run(run_id)) if run_id in self._seen else None for run_id in runs}
        grown = {
            run_id.rpartition(".")[0]
            for run_id, seen in now.items()
            if seen is None or self._seen[run_id] != seen
        }
        self._seen = now
        self._took = time.monotonic() - began
        return grown


def marks(directory: str) -> Marks:
    """Return what changes with the output or the progress of a run."""
    found = []
    for path in (
        f"{directory}/{LOG}",
        f"{directory}/{TAIL}",
        f"{directory}/{PROGRESS}",
        f"{own_files(directory)}/{PROGRESS}",
    ):
        try:
            facts = os.lstat(path)
            found.append((facts.st_mtime_ns, facts.st_size))
        except OSError:
            found.append((0, 0))
    return tuple(found)
