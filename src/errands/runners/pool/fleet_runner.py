"""The runner of a home that belongs to a fleet: runs for other hosts are placed, all others are its own.

A placed run has no process here. The host process offers it to the fleet, and writes log and run record as a
shim would; it finds all that it needs in the store. So a placed run is started by noting that in its
directory, and has ended when its run record says so.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from errands.model.run import task_of
from errands.ports import rundir
from errands.ports.fleet import placement
from errands.ports.runner import Alive, Asked, Ended
from errands.runners.shim import run_record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from errands.ports.runner import Found, Launch, Report, Runner

    _Mark = tuple[int, int] | None
    _Marks = tuple[_Mark, _Mark]


class FleetRunner:
    """Another runner, and the runs that are placed on other hosts."""

    def __init__(self, inner: Runner, runs_dir: str) -> None:
        self._inner = inner
        self._runs_dir = runs_dir
        self._placed: dict[str, int] = {}
        self._run_of: dict[str, str] = {}  # the live run of each task
        self._seen: dict[str, _Marks] = {}

    @property
    def listener(self) -> Callable[[Report], None]:
        return self._inner.listener

    @listener.setter
    def listener(self, listener: Callable[[Report], None]) -> None:
        self._inner.listener = listener

    async def open(self) -> None:
        await self._inner.open()

    async def close(self) -> None:
        await self._inner.close()

    def start(self, launch: Launch) -> None:
        if not launch.host:
            return self._inner.start(launch)
        placement.begin(launch.directory, attempt=launch.attempt)
        self._watch(launch.run_id, launch.attempt)

    def stop(self, run_id: str, *, grace: float) -> None:
        if run_id not in self._placed:  # else the host process finds the request in the store
            self._inner.stop(run_id, grace=grace)

    def pause(self, run_id: str, *, wanted: bool) -> bool:
        if run_id not in self._placed:
            return self._inner.pause(run_id, wanted=wanted)
        rundir.want_pause(self._directory(run_id), wanted)  # the host process passes it on
        return True

    def recover(self, run_id: str, *, attempt: int) -> Found:
        found = placement.read(self._directory(run_id))
        if found is None or found.attempt != attempt:
            return self._inner.recover(run_id, attempt=attempt)
        self._watch(run_id, attempt)
        return Alive(run_id=run_id, attempt=attempt, pid=None)

    def look(self, task_ids: Collection[str] | None) -> None:
        """Report the placed runs that have ended, or that a host wants approval for."""
        tasks = [*self._run_of] if task_ids is None else self._run_of.keys() & {*task_ids}
        for task_id in tasks:
            run_id = self._run_of[task_id]
            report = self._news(run_id, self._placed[run_id])
            if report is not None:
                del self._placed[run_id], self._seen[run_id], self._run_of[task_id]
                self.listener(report)

    def _watch(self, run_id: str, attempt: int) -> None:
        self._placed[run_id] = attempt
        self._run_of[task_of(run_id)[0]] = run_id

    def _news(self, run_id: str, attempt: int) -> Report | None:
        directory = self._directory(run_id)
        marks = _mark(rundir.record_path(directory, attempt)), _mark(f"{directory}/{rundir.PLACEMENT}")
        if marks == self._seen.get(run_id):
            return None
        self._seen[run_id] = marks
        record = run_record.read(directory, attempt)
        if record is not None and record.exit is not None:
            return Ended(run_id=run_id, attempt=attempt, ending=run_record.ending(record.exit))
        found = placement.read(directory)
        if found is None or found.attempt != attempt or not found.asked:
            return None
        return Asked(run_id=run_id, attempt=attempt, host=found.asked_on, reasons=found.asked)

    def _directory(self, run_id: str) -> str:
        return os.path.join(self._runs_dir, run_id)


def _mark(path: str) -> _Mark:
    """Return what changes with a file that is only added to; reading thousands of files takes longer."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return facts.st_ino, facts.st_size
