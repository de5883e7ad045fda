"""Notices: the owner of a task is notified of every ending exactly once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from errands.bootstrap import open_engine
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.testing.engines import WITHIN, TestEngine, embedded


@pytest.mark.trap(2)
async def test_many_endings_at_once_are_each_reported_once(engine: TestEngine) -> None:
    tasks = await engine.submit_all([Draft(command=("true",), name=f"n{i}") for i in range(100)])
    await engine.wait_all([task.id for task in tasks])
    reported = await engine.take_notices()

    assert sorted(notice.run_id for notice in reported) == sorted(task.latest.id for task in tasks)
    assert await engine.take_notices() == []


@pytest.mark.trap(3)
async def test_each_notice_goes_to_one_of_several_concurrent_readers(engine: TestEngine, home: Home) -> None:
    tasks = await engine.submit_all([Draft(command=("true",), name=f"n{i}") for i in range(60)])
    await engine.wait_all([task.id for task in tasks])

    def read(reader: int) -> list[str]:
        other = open_engine(home)
        reported: list[str] = []
        while batch := other.take_notices("user", reader=f"reader {reader}", limit=5):
            reported += [notice.run_id for notice in batch]
        other.close()
        return reported

    with ThreadPoolExecutor(4) as pool:
        reported = [run_id for answer in pool.map(read, range(4)) for run_id in answer]
    assert sorted(reported) == sorted(task.latest.id for task in tasks)


@pytest.mark.fault("F7")
async def test_a_notice_whose_reader_died_before_committing_goes_to_the_next_reader(
    engine: TestEngine, home: Home
) -> None:
    task = await engine.finished("true")
    doomed = """
import os, signal, sys
from errands import bootstrap
from errands.ports.home import Home
from errands.stores.sqlite.connection import Connection
Connection.__exit__ = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
bootstrap.open_engine(Home(path=sys.argv[1])).take_notices("user", reader="doomed")
"""
    done = subprocess.run([sys.executable, "-c", doomed, home.path], check=False)

    assert done.returncode == -signal.SIGKILL
    assert [notice.run_id for notice in await engine.take_notices()] == [task.latest.id]


@pytest.mark.trap(4)
async def test_no_way_of_reading_a_task_consumes_its_notice(engine: TestEngine) -> None:
    task = await engine.finished("echo hello")
    await engine.get(task.id)
    await engine.list()
    await engine.output(task.id)
    await engine.tail(task.id)
    await engine.events(task.id)
    await engine.text(task.id)
    engine.engine.mark_retrieved(task)
    engine.engine.store.inbox("user")

    assert [notice.run_id for notice in await engine.take_notices()] == [task.latest.id]


@pytest.mark.trap(5)
async def test_only_the_owner_is_notified(engine: TestEngine) -> None:
    mine = await engine.finished("true", owner="chat-1")
    await engine.finished("true", owner="chat-2")

    assert [notice.run_id for notice in await engine.take_notices("chat-1")] == [mine.latest.id]
    assert await engine.take_notices("user") == []
    assert len(await engine.take_notices("chat-2")) == 1


async def test_the_session_in_the_callers_environment_owns_its_tasks(engine: TestEngine) -> None:
    await engine.finished("true", environ={"ERRANDS_SESSION": "chat-7", "PATH": "/bin:/usr/bin"})
    assert len(await engine.take_notices("chat-7")) == 1


@pytest.mark.parametrize(
    ("policy", "reported"), [("always", ["completed", "failed"]), ("on_failure", ["failed"]), ("never", [])]
)
async def test_the_policy_of_a_task_decides_which_endings_are_reported(
    engine: TestEngine, policy: str, reported: list[str]
) -> None:
    for command in ("true", "false"):
        await engine.finished(command, notify=policy)
    assert [notice.event for notice in await engine.take_notices()] == reported


async def test_the_configured_policy_applies_unless_the_task_sets_its_own(home: Home) -> None:
    async with embedded(home.path, **{"notices.policy": "never"}) as engine:
        await engine.finished("true")
        reported = await engine.finished("true", notify="always")
        assert [notice.run_id for notice in await engine.take_notices()] == [reported.latest.id]


async def test_a_notice_is_bounded_however_long_the_description_is(engine: TestEngine) -> None:
    await engine.finished("echo " + "x" * 10_000, description="d" * 10_000)
    [notice] = await engine.take_notices()

    reported = json.loads(notice.body)
    assert len(notice.body) < 1500
    assert reported["command"].endswith("…")
    assert reported["description"].endswith("…")


@pytest.mark.spec("S7")
async def test_the_notice_of_an_awaited_command_is_held_back_for_a_moment(engine: TestEngine) -> None:
    task = await engine.started("echo ready; read line", input="pipe", parent="chat", owner="chat")
    await engine.expect(task.latest.id)
    await engine.send(task.id, b"\n")
    await engine.wait(task.id, timeout=WITHIN)
    assert await engine.take_notices("chat") == []
    with engine.engine.store as store:
        later = engine.now() + timedelta(seconds=3)
        (notice,) = store.take_inbox("chat", reader="test", now=later, limit=9)
    assert notice.run_id == task.latest.id
