"""Lanes: as many runs at a time as the lane is wide, by priority, then first come, first served."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.config import load
from errands.engine.engine import Engine
from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import WITHIN, TestEngine, embedded, until
from tests.engine.daemons import Daemons, finished, lines

WAITING = "echo ready; read line"  # until it is sent a line


@pytest.fixture
async def woken(home: Home) -> AsyncIterator[TestEngine]:
    """An engine that does not look by itself: what happens was caused by an event."""
    async with embedded(home.path, **{"daemon.tick": "1h"}) as engine:
        yield engine


@pytest.mark.spec("L5")
async def test_a_lane_of_five_with_six_tasks_runs_five_and_starts_the_sixth_when_one_ends(
    woken: TestEngine,
) -> None:
    engine = woken
    tasks = [await engine.submit(WAITING, input="pipe") for _ in range(6)]
    for task in tasks[:5]:
        await engine.printed(task.id, "ready")
    await engine.finished("true", lane="local")  # the queue was checked again, without room

    assert [(await engine.get(task.id)).state for task in tasks] == ["running"] * 5 + ["pending"]
    assert engine.engine.store.counts()["running"] == 5

    await engine.send(tasks[2].id, b"\n")
    await engine.wait(tasks[2].id)
    await engine.printed(tasks[5].id, "ready")

    assert engine.engine.store.counts()["running"] == 5


@pytest.mark.fault("F36")
async def test_a_long_queue_is_served_to_its_end(engine: TestEngine) -> None:
    tasks = await engine.submit_all([Draft(command=("true",), name=f"n{i}") for i in range(1000)])
    assert engine.engine.store.counts()["pending"] == 1000
    await engine.wait_all([task.id for task in tasks])

    counts = engine.engine.store.counts()
    assert (counts["completed"], sum(counts.values())) == (1000, 1000)
    newest = await engine.list(limit=20)
    assert [view.id for view in newest] == [task.id for task in reversed(tasks[-20:])]


@pytest.mark.spec("L5")
@pytest.mark.fault("F36")
async def test_a_queue_is_served_exactly_in_order(home: Home, tmp_path: Path) -> None:
    order = tmp_path / "order"
    async with embedded(home.path, **{"lanes.shell": "1"}) as engine:
        tasks = await engine.submit_all(
            [Draft(command=f"echo {number} >> {order}", name=f"n{number}") for number in range(200)]
        )
        await engine.wait_all([task.id for task in tasks])

    assert lines(order) == [str(number) for number in range(200)]


@pytest.mark.spec("L5")
async def test_widths_are_configurable_and_lanes_are_independent(home: Home) -> None:
    async with embedded(home.path, **{"lanes.shell": "1", "lanes.gpu": "2"}) as engine:
        shell = [await engine.submit(WAITING, input="pipe") for _ in range(2)]
        gpu = [await engine.submit(WAITING, input="pipe", lane="gpu") for _ in range(3)]
        for task in (shell[0], gpu[0], gpu[1]):
            await engine.printed(task.id, "ready")
        await engine.finished("true", lane="local")

        states = [(await engine.get(task.id)).state for task in (*shell, *gpu)]
        assert states == ["running", "pending", "running", "running", "pending"]


@pytest.mark.spec("L5")
async def test_a_lane_of_width_zero_starts_nothing(home: Home) -> None:
    async with embedded(home.path, **{"lanes.later": "0"}) as engine:
        held = await engine.submit("true", lane="later")
        await engine.finished("true")
        assert (await engine.get(held.id)).state == "pending"


@pytest.mark.spec("L6")
async def test_the_queue_is_ordered_by_priority_then_by_age(home: Home, tmp_path: Path) -> None:
    async with embedded(home.path, **{"lanes.shell": "1"}) as engine:
        first = await engine.started(WAITING, input="pipe")
        order = tmp_path / "order"
        tasks = [
            await engine.submit(f"echo {name} >> {order}", priority=priority)  # type: ignore[arg-type]
            for name, priority in (
                ("low-1", "low"), ("normal-1", "normal"), ("high-1", "high"),
                ("normal-2", "normal"), ("high-2", "high"), ("low-2", "low"),
            )
        ]  # fmt: skip
        await engine.send(first.id, b"\n")
        await engine.wait_all([task.id for task in tasks])

        assert lines(order) == ["high-1", "high-2", "normal-1", "normal-2", "low-1", "low-2"]


def test_an_unknown_lane_is_refused_with_a_list_of_lanes(client: Engine) -> None:
    with pytest.raises(
        BadValue,
        match=r"unknown lane 'shel' \(did you mean shell\?\).* shell \(5\), agent \(4\), local \(1\)",
    ):
        client.submit(Draft(command="true", lane="shel"))
    assert client.list(Query()) == []


@pytest.mark.spec("L5")
async def test_a_lane_that_only_the_caller_knows_runs_one_task_at_a_time(
    engine: TestEngine, home: Home
) -> None:
    launcher = open_engine(home, load(overrides={"lanes.mine": "3"}), consent="yes")
    tasks = [launcher.submit(Draft(command=WAITING, input="pipe", lane="mine")) for _ in range(2)]
    launcher.close()
    await engine.printed(tasks[0].id, "ready")
    await engine.finished("true")

    assert (await engine.get(tasks[1].id)).state == "pending"
    await engine.send(tasks[0].id, b"\n")
    await engine.printed(tasks[1].id, "ready")


@pytest.mark.spec("L18")
async def test_a_task_waiting_for_its_start_time_takes_no_slot_in_its_lane(home: Home) -> None:
    async with embedded(home.path, **{"lanes.shell": "1", "daemon.tick": "1h"}) as engine:
        at = datetime.now(UTC) + timedelta(seconds=2)
        later = await engine.submit("true", at=at)
        meanwhile = await engine.finished("true")

        assert (later.state, later.due_at) == ("pending", at)
        assert meanwhile.state == "completed"
        ended = await engine.wait(later.id, timeout=WITHIN)
        assert ended.latest.started_at is not None
        assert at <= ended.latest.started_at


@pytest.mark.spec("L18")
async def test_a_start_time_in_the_past_means_now(engine: TestEngine) -> None:
    task = await engine.finished("true", at=datetime.now(UTC) - timedelta(days=1))
    assert task.state == "completed"


@pytest.mark.spec("L5")
async def test_a_task_that_fails_to_start_frees_its_slot(home: Home) -> None:
    async with embedded(home.path, **{"lanes.shell": "1"}) as engine:
        await engine.finished(["no-such-program"])
        task = await engine.finished("true")
        assert task.state == "completed"
        await until(lambda: engine.engine.store.counts()["running"] == 0)


def test_runs_that_were_claimed_and_never_spawned_free_their_slots(daemons: Daemons, client: Engine) -> None:
    tasks = client.submit_all([Draft(command="true", name=f"n{i}") for i in range(5)])
    daemons.start_doomed("errands.engine.daemon.supervisor.Supervisor.start")
    daemons.wait_for_doom()
    assert client.store.counts()["running"] == 5  # as many as the lane is wide
    daemons.start()

    assert {finished(client, task.id).state for task in tasks} == {"completed"}
    assert finished(client, client.submit(Draft(command="true")).id).state == "completed"
