"""Awaited tasks: runs of this home that start when a task of another home has completed.

Such a run is held, and a note in the home says what for. The host process looks at what the fleet knows of
those tasks, and releases the run or skips it. A person may release it by hand before that.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

from errands.engine.daemon.outcome import after_unstarted_run
from errands.engine.fleet import far_task
from errands.model.errors import NotFound
from errands.model.run import task_of

if TYPE_CHECKING:
    from errands.engine.engine import Engine
    from errands.ports.fleet import Fleet

LOOK = 1.0  # seconds between two checks
UNBORN = 60.0  # seconds after which a note belongs to a submission that was never committed


class AwaitedTasks:
    def __init__(self, engine: Engine, fleet: Fleet) -> None:
        self._engine = engine
        self._fleet = fleet

    async def work(self) -> None:
        folder = self._engine.home.awaited
        try:
            names = [name for name in os.listdir(folder) if not name.endswith(".new")]
        except FileNotFoundError:
            return
        for run_id in names:
            path = f"{folder}/{run_id}"
            if self._is_held(run_id, path) and not await self._is_settled(run_id, path):
                continue
            if not self._is_held(run_id, path):
                os.unlink(path)

    def _is_held(self, run_id: str, path: str) -> bool:
        """Return whether a run is, or is about to be, held."""
        try:
            run = self._engine.view(task_of(run_id)[0]).latest
        except NotFound:
            return time.time() - os.stat(path).st_mtime < UNBORN
        return run.id == run_id and run.state == "pending" and run.paused_at is not None

    async def _is_settled(self, run_id: str, path: str) -> bool:
        """Release or skip a run if all that it waits for is over, or one of it failed."""
        with open(path, encoding="utf-8") as file:
            wanted = json.load(file)
        states = [await self._state(each) for each in wanted]
        bad = [
            (each, state)
            for each, state in zip(wanted, states, strict=True)
            if state not in ("", "completed")
        ]
        if bad:
            self._skip(run_id, f"it waited for {bad[0][0]} ({bad[0][1]})")
        elif "" in states:
            return False
        else:
            self._engine.queue.release(task_of(run_id)[0])
        return True

    async def _state(self, task: str) -> str:
        """Return how a task of another home ended; the empty text as long as it has not."""
        runs = [run for run in await self._fleet.find(task) if run.task == task]
        if not runs:
            return "unknown to the fleet"
        word = far_task.word(runs[0])
        return word if far_task.is_over(runs[0]) and word != "proposed" else ""

    def _skip(self, run_id: str, why: str) -> None:
        store, now = self._engine.store, self._engine.clock.now()
        with store:
            if not store.skip_pending(run_id, reason="dependency", error=why, now=now):
                return
            ended = after_unstarted_run(store, run_id, "skipped", now=now)
        self._engine.bell.ring(ended)
