"""Restarting: the same task as a new run, and never two runs at a time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.model.errors import IllegalMove
from errands.ports.home import Home
from errands.testing.engines import TestEngine


@pytest.mark.spec("L12")
async def test_a_failed_task_is_restarted_as_a_new_run_of_the_same_task(
    engine: TestEngine, tmp_path: Path
) -> None:
    task = await engine.finished(f"echo try; test -e {tmp_path}/flag")
    (tmp_path / "flag").touch()
    again = await engine.restart(task.id)
    await engine.wait(task.id)
    ended = await engine.get(task.id)

    assert (again.id, again.latest.number, again.latest.cause) == (task.id, 2, "restart")
    assert [(run.number, run.state) for run in ended.history] == [(1, "failed"), (2, "completed")]
    assert (ended.task_state, ended.runs) == ("done", 2)


@pytest.mark.spec("L12")
async def test_a_cancelled_task_can_be_restarted(engine: TestEngine) -> None:
    task = await engine.started("echo ready; read line", input="pipe")
    await engine.cancel(task.id)
    await engine.wait(task.id)
    await engine.restart(task.id)
    await engine.printed(task.id, "ready")
    await engine.send(task.id, b"\n")

    assert (await engine.wait(task.id)).state == "completed"


@pytest.mark.spec("L12")
async def test_each_run_keeps_its_own_output(engine: TestEngine, home: Home) -> None:
    task = await engine.finished("echo $ERRANDS_RUN_ID")
    await engine.restart(task.id)
    await engine.wait(task.id)

    first = await engine.output(f"{task.id}.1")
    assert first.content.decode() == f"{task.id}.1\n"
    assert await engine.text(task.id) == f"{task.id}.2\n"
    assert sorted(os.listdir(home.runs)) == [f"{task.id}.1", f"{task.id}.2"]


@pytest.mark.spec("L12")
async def test_a_live_task_cannot_be_restarted(engine: TestEngine) -> None:
    running = await engine.started("echo ready; sleep 1000")
    waiting = await engine.submit("true", after=[running.id])
    for task in (running, waiting):
        with pytest.raises(IllegalMove, match="still live; cancel it first, or wait for it"):
            await engine.restart(task.id)
        assert len((await engine.get(task.id)).history) == 1


@pytest.mark.spec("L12")
async def test_of_several_restarts_at_once_exactly_one_wins(engine: TestEngine, home: Home) -> None:
    task = await engine.finished("read line", input="pipe", timeout=0.1)

    def restart(_: int) -> bool:
        other = open_engine(home)
        try:
            other.restart(task.id)
        except IllegalMove:
            return False
        finally:
            other.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(restart, range(8)))
    assert won.count(True) == 1
    assert len((await engine.get(task.id)).history) == 2


@pytest.mark.trap(14)
async def test_the_end_of_a_restart_is_reported_like_the_first(engine: TestEngine) -> None:
    task = await engine.finished("true")
    assert len(await engine.take_notices()) == 1
    await engine.restart(task.id)
    await engine.wait(task.id)

    assert [notice.run_id for notice in await engine.take_notices()] == [f"{task.id}.2"]
