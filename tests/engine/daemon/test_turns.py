"""The turns of the loops: one for several ends, but no end waits for nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from errands.bootstrap import SystemClock
from errands.config import Config
from errands.engine.daemon import loops
from errands.engine.daemon.loops import Loops
from errands.ports.home import Home
from errands.ports.runner import Ended
from errands.runners.output import log
from errands.stores.sqlite.connection import Connection
from errands.stores.sqlite.store import SqliteStore
from tests.engine.daemon.quiet_runner import QuietRunner
from tests.samples import sample_ending, sample_task

TASKS = ("true-222222", "true-333333", "true-444444")


async def test_ends_are_recorded_together_while_other_runs_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "GAP", 3600.0)
    home, runner = Home(path=str(tmp_path)), QuietRunner()
    store = SqliteStore(Connection(home.store), home.runs)
    with store:
        store.add_environment("none", "{}")
        for task_id in TASKS:
            store.add_task(sample_task(task_id))
    daemon = Loops(store=store, runner=runner, home=home, config=Config(), clock=SystemClock(), output=log)
    await daemon.open()
    try:
        assert len(runner.launches) == len(TASKS)

        for task_id in TASKS[:-1]:
            runner.listener(Ended(run_id=f"{task_id}.1", attempt=1, ending=sample_ending(code=0)))
            for _ in range(5):
                await asyncio.sleep(0)
        assert not any(store.ended(task_id) for task_id in TASKS)

        runner.listener(Ended(run_id=f"{TASKS[-1]}.1", attempt=1, ending=sample_ending(code=0)))
        for _ in range(5):
            await asyncio.sleep(0)
        assert all(store.ended(task_id) for task_id in TASKS)
        assert len({store.view(task_id).updated_at for task_id in TASKS}) == 1
    finally:
        await daemon.close()
