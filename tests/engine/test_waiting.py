"""Waiting: woken by the end itself, never longer than the timeout, and without affecting the task."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine import async_engine, waiting
from errands.engine.bell_client import BellClient
from errands.engine.engine import Engine
from errands.model.errors import BadValue, NotFound
from errands.model.options.draft import Draft
from errands.model.view import View
from errands.ports.home import Home
from errands.testing.engines import TestEngine, embedded
from tests.engine.daemons import Daemons, eventually, lines

WAITING = "echo ready; read line"


@pytest.fixture
def no_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (waiting, async_engine):
        monkeypatch.setattr(module, "LOOK", 1000.0)


@pytest.mark.spec("O4")
@pytest.mark.usefixtures("no_polling")
async def test_a_waiter_is_woken_by_the_end_and_not_by_a_poll(engine: TestEngine) -> None:
    async with asyncio.timeout(60):
        for _ in range(30):
            task = await engine.submit("exit 4")
            assert (await engine.wait(task.id)).latest.exit_code == 4


@pytest.mark.spec("O4", "L21")
@pytest.mark.usefixtures("no_polling")
def test_a_waiter_in_another_process_is_woken_by_the_end_too(daemons: Daemons, client: Engine) -> None:
    daemons.start()
    for _ in range(30):
        task = client.submit(Draft(command="exit 4"))
        assert waiting.wait(client, [task.id], timeout=60) == []
        assert client.get(task.id).latest.exit_code == 4


@pytest.mark.spec("O4", "L20")
@pytest.mark.usefixtures("no_polling")
def test_a_waiter_that_restarts_the_daemon_is_woken_by_it(daemons: Daemons, client: Engine) -> None:
    daemons.start()
    task = client.submit(Draft(command="echo ready; read line; exit 4", input="pipe"))
    eventually(lambda: client.output(task.id).content)
    daemons.kill()
    client.send(task.id, b"go\n")

    def start() -> None:
        daemons.start()

    client.start_daemon = start
    assert waiting.wait(client, [task.id]) == []
    assert client.get(task.id).latest.exit_code == 4


@pytest.mark.spec("O4")
async def test_without_the_bell_the_end_is_found_by_polling(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LOOK", 0.02)

    def wait_elsewhere(task_id: str) -> list[str]:
        other = open_engine(home)
        try:
            return waiting.wait(other, [task_id], timeout=60)
        finally:
            other.close()

    async with embedded(home.path, **{"daemon.tick": "20ms"}) as engine:
        os.unlink(home.bell)
        task = await engine.submit("true")
        assert await asyncio.to_thread(wait_elsewhere, task.id) == []


@pytest.mark.spec("O4")
@pytest.mark.trap(38)
async def test_a_timeout_returns_the_state_and_the_output_so_far(engine: TestEngine) -> None:
    task = await engine.started(WAITING, input="pipe")
    took = [0.0]
    while not 0.1 <= took[-1] < 0.6:  # on a busy machine not every time
        assert len(took) < 30, took
        began = time.monotonic()
        view = await engine.wait(task.id, timeout=0.1)
        took.append(time.monotonic() - began)

    assert min(took[1:]) >= 0.1
    assert (view.state, view.latest.exit_code) == ("running", None)
    assert (await engine.output(task.id)).content == b"ready\n"


@pytest.mark.spec("O4")
async def test_a_timeout_of_zero_returns_at_once_and_a_negative_one_is_refused(engine: TestEngine) -> None:
    task = await engine.started(WAITING, input="pipe")

    assert (await engine.wait(task.id, timeout=0)).state == "running"
    with pytest.raises(BadValue, match="cannot be negative: -1"):
        await engine.wait(task.id, timeout=-1)


@pytest.mark.spec("L22")
@pytest.mark.trap(27)
async def test_a_waiter_that_gives_up_loses_no_output_and_restarts_nothing(
    engine: TestEngine, tmp_path: Path
) -> None:
    command = f"echo $$ >> {tmp_path}/starts; for i in 1 2 3; do echo line $i; read line; done"
    task = await engine.submit(command, input="pipe")
    await engine.printed(task.id, "line 1")
    seen = await engine.wait(task.id, timeout=0.05)
    assert seen.state == "running"
    for word in ("line 2", "line 3"):
        await engine.send(task.id, b"\n")
        await engine.printed(task.id, word)
    await engine.send(task.id, b"\n")
    ended = await engine.wait(task.id)

    assert ended.state == "completed"
    assert await engine.text(task.id) == "line 1\nline 2\nline 3\n"
    assert lines(tmp_path / "starts") == [str(ended.latest.pid)]


@pytest.mark.spec("O4")
async def test_waiting_for_several_tasks_ends_with_the_last_one(engine: TestEngine) -> None:
    slow = await engine.started(WAITING, input="pipe")
    quick = await engine.submit("true")
    both = asyncio.create_task(engine.wait_all([quick.id, slow.id]))
    await engine.wait(quick.id)
    assert not both.done()

    await engine.send(slow.id, b"\n")
    assert [view.state for view in await both] == ["completed", "completed"]


@pytest.mark.spec("O4")
async def test_waiting_for_an_ended_or_unknown_task_returns_at_once(engine: TestEngine) -> None:
    task = await engine.finished("true")
    assert (await engine.wait(task.id)).state == "completed"
    with pytest.raises(NotFound):
        await engine.wait("nothing-222222")


@pytest.mark.spec("O4")
async def test_a_watcher_sees_every_change_of_a_task(engine: TestEngine) -> None:
    async def states_of(task_id: str) -> list[str]:
        seen: list[str] = []
        async for view in engine.watch(task_id):
            seen.append(view.state)
            if not view.is_live:
                return seen
        return seen

    first = await engine.started(WAITING, input="pipe")
    task = await engine.submit("true", after=[first.id])
    watcher = asyncio.create_task(states_of(task.id))
    await asyncio.sleep(0)
    await engine.send(first.id, b"\n")

    async with asyncio.timeout(60):
        assert (await watcher)[-1] == "completed"


@pytest.mark.parametrize("named", [True, False])
async def test_a_watcher_misses_no_change_made_before_its_subscription_is_confirmed(
    engine: TestEngine, named: bool
) -> None:
    task = await engine.started(WAITING, input="pipe")

    async def first_change() -> View:
        async for view in engine.watch(*([task.id] if named else [])):
            return view
        raise AssertionError("a watch never ends by itself")

    watcher = asyncio.create_task(first_change())
    await asyncio.sleep(0)  # it has subscribed, and the subscription is not confirmed yet
    await engine.send(task.id, b"\n")
    await engine.wait(task.id)

    async with asyncio.timeout(60):
        assert (await watcher).id == task.id


def test_the_last_words_of_a_daemon_are_read_before_its_end(home: Home) -> None:
    os.makedirs(home.path, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(home.bell)
        daemon.listen()
        client = BellClient(home.bell)
        client.watch(["one"])
        line, _ = daemon.accept()
    line.send(b"changed one\n")
    line.close()

    assert client.read() == ["changed one"]
    assert client.fileno() >= 0  # which is waited on
    assert client.read() is None
    assert client.fileno() < 0
