"""Retention: ended tasks are kept for their time, live ones are never touched, and removal is complete."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from errands import config
from errands.engine.daemon import loops
from errands.engine.daemon.janitor import Janitor
from errands.engine.engine import Engine
from errands.model.errors import NotFound, StillLive
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import TestEngine, embedded, until
from tests.engine.daemons import Daemons, eventually, finished
from tests.hand_clock import HandClock

SOON = {"retention.keep": "1ms"}


def janitor(engine: Engine, clock: HandClock, **overrides: str) -> Janitor:
    return Janitor(engine.store, engine.home, config.load(overrides=overrides), clock)


@pytest.mark.spec("O13")
@pytest.mark.trap(39)
async def test_a_finished_task_is_kept_for_a_week_and_then_removed_with_its_files(
    engine: TestEngine, home: Home
) -> None:
    task = await engine.finished("echo hello")
    clock = HandClock(datetime.now(UTC))
    clock.turn(timedelta(days=6, hours=23))
    assert await janitor(engine.engine, clock).sweep() == 0
    clock.turn(timedelta(hours=2))

    assert await janitor(engine.engine, clock, **{"retention.enabled": "false"}).sweep() == 0
    assert await janitor(engine.engine, clock, **{"retention.keep": "30d"}).sweep() == 0
    assert await engine.text(task.id) == "hello\n"
    assert await janitor(engine.engine, clock).sweep() == 1
    assert not os.path.exists(home.run(task.latest.id))
    with pytest.raises(NotFound):
        await engine.get(task.id)


@pytest.mark.spec("A7", "O13")
async def test_approvals_are_kept_for_a_month_after_the_task_is_removed(
    engine: TestEngine, home: Home
) -> None:
    task = await engine.finished("touch here", cwd=home.path)
    clock = HandClock(datetime.now(UTC))
    clock.turn(timedelta(days=8))
    assert await janitor(engine.engine, clock).sweep() == 1
    clock.turn(timedelta(days=29))
    await janitor(engine.engine, clock).sweep()
    (kept,) = engine.engine.audit(task.id)
    assert (kept.approval.state, kept.command, kept.is_gone) == ("granted", "touch here", True)
    clock.turn(timedelta(days=2))
    await janitor(engine.engine, clock).sweep()
    assert engine.engine.audit() == []


@pytest.mark.spec("O13")
async def test_running_and_pending_tasks_and_those_of_a_session_are_never_removed(engine: TestEngine) -> None:
    running = await engine.started("echo ready; read line", input="pipe")
    pending = await engine.submit("true", after=[running.id])
    owned = await engine.finished("true", parent="chat-1")
    clock = HandClock(datetime.now(UTC))
    clock.turn(timedelta(days=400))
    with engine.engine.store:
        engine.engine.store.see_session("chat-1", now=clock.now())

    assert await janitor(engine.engine, clock).sweep() == 0
    assert {view.id for view in await engine.list()} == {running.id, pending.id, owned.id}


@pytest.mark.spec("O13")
async def test_old_tasks_are_removed_at_startup(home: Home) -> None:
    async with embedded(home.path) as engine:
        task = await engine.finished("true")
    async with embedded(home.path, **SOON) as engine:
        await until(lambda: not os.path.exists(home.run(task.latest.id)))
        assert await engine.list() == []


@pytest.mark.spec("O13")
async def test_old_tasks_are_removed_while_the_engine_runs(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "SWEEP", 0.05)
    async with embedded(home.path, **SOON) as engine:
        task = await engine.submit("true")
        await until(lambda: engine.engine.list(Query()) == [])
        await until(lambda: not os.path.exists(home.run(f"{task.id}.1")))


@pytest.mark.spec("O13")
async def test_a_sweep_that_fails_is_tried_again(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "SWEEP", 0.02)
    sweeps = []

    async def sweep(self: Janitor) -> int:
        sweeps.append(self)
        raise FileNotFoundError("another process removed it")

    monkeypatch.setattr(Janitor, "sweep_orphans", sweep)
    async with embedded(home.path):
        await until(lambda: len(sweeps) > 2)


@pytest.mark.spec("O13")
async def test_old_delivered_notices_are_removed_and_undelivered_ones_are_kept(engine: TestEngine) -> None:
    await engine.finished("true", owner="delivered")
    await engine.finished("true", owner="undelivered")
    assert len(await engine.take_notices("delivered")) == 1
    clock = HandClock(datetime.now(UTC))
    clock.turn(timedelta(days=8))
    sweeper = janitor(engine.engine, clock)
    while await sweeper.sweep():
        pass

    assert len(await engine.take_notices("undelivered")) == 1
    assert await engine.take_notices("delivered") == []


@pytest.mark.fault("F9")
def test_an_interrupted_removal_leaves_no_task_without_its_files_and_is_finished_later(
    daemons: Daemons, client: Engine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemons.start()
    tasks = [finished(client, client.submit(Draft(command="echo hello")).id) for _ in range(3)]
    daemons.kill()
    monkeypatch.setenv("ERRANDS_RETENTION_KEEP", "1ms")
    daemons.start_doomed("errands.engine.daemon.janitor.remove_tree")
    daemons.wait_for_doom()

    assert client.list(Query()) == []
    assert len(kept(home)) == 3
    for task in tasks:
        long_ago = datetime.now(UTC).timestamp() - 2 * 3600
        os.utime(home.run(task.latest.id), (long_ago, long_ago))
    daemons.start()
    eventually(lambda: kept(home) == [])


def kept(home: Home) -> list[str]:
    """Return the run directories, without the one in which a starting daemon prewarms."""
    return [name for name in os.listdir(home.runs) if not name.startswith(".")]


@pytest.mark.fault("F9")
async def test_a_directory_whose_task_may_be_about_to_commit_is_left_alone(
    engine: TestEngine, home: Home
) -> None:
    task = await engine.finished("true")
    for name in ("young-222222.1", "old-222222.1", "no-run-at-all"):
        os.mkdir(home.run(name))
    long_ago = datetime.now(UTC).timestamp() - 2 * 3600
    for name in ("old-222222.1", "no-run-at-all", task.latest.id):
        os.utime(home.run(name), (long_ago, long_ago))

    assert await janitor(engine.engine, HandClock(datetime.now(UTC))).sweep_orphans() == 2
    assert sorted(os.listdir(home.runs)) == sorted([task.latest.id, "young-222222.1"])


@pytest.mark.spec("O14")
async def test_clear_removes_a_finished_task_with_all_its_runs(engine: TestEngine, home: Home) -> None:
    task = await engine.finished("true")
    await engine.restart(task.id)
    await engine.wait(task.id)
    kept = await engine.finished("true")

    assert await engine.clear(task.id) == [task.id]
    assert [view.id for view in await engine.list()] == [kept.id]
    assert os.listdir(home.runs) == [kept.latest.id]


@pytest.mark.spec("O14")
async def test_clear_refuses_live_tasks_and_then_removes_nothing(engine: TestEngine) -> None:
    done = await engine.finished("true")
    running = await engine.started("echo ready; read line", input="pipe")
    pending = await engine.submit("true", after=[running.id])
    with pytest.raises(StillLive, match="have not ended; cancel them first, or leave them out") as caught:
        await engine.clear(done.id, running.id, pending.id)

    assert running.id in str(caught.value)
    assert pending.id in str(caught.value)
    assert len(await engine.list()) == 3
    assert (await engine.get(done.id)).state == "completed"


@pytest.mark.spec("O14")
async def test_a_session_s_tasks_are_listed_and_cleared_together(engine: TestEngine) -> None:
    mine = [await engine.finished("true", owner="chat-1", parent="chat-1") for _ in range(2)]
    other = await engine.finished("true", owner="chat-2")
    listed = engine.engine.list(Query(owner="chat-1"))

    assert {view.id for view in listed} == {task.id for task in mine}
    await engine.clear(*[view.id for view in listed])
    assert [view.id for view in await engine.list()] == [other.id]


@pytest.mark.spec("O14")
async def test_files_that_cannot_be_removed_do_not_bring_a_cleared_task_back(
    engine: TestEngine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await engine.finished("true")
    monkeypatch.setattr("shutil.rmtree", lambda path, ignore_errors: None)
    await engine.clear(task.id)

    assert await engine.list() == []
    assert Path(home.run(task.latest.id) + ".gone").is_dir()
