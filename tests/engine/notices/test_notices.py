"""Notices: whoever asked is told of every end, once."""

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
async def test_many_ends_at_once_are_all_told_once(engine: TestEngine) -> None:
    tasks = await engine.submit_all([Draft(command=("true",), name=f"n{i}") for i in range(100)])
    await engine.wait_all([task.id for task in tasks])
    told = await engine.take_notices()

    assert sorted(notice.run_id for notice in told) == sorted(task.latest.id for task in tasks)
    assert await engine.take_notices() == []


@pytest.mark.trap(3)
async def test_of_two_readers_at_once_each_notice_is_told_to_one(engine: TestEngine, home: Home) -> None:
    tasks = await engine.submit_all([Draft(command=("true",), name=f"n{i}") for i in range(60)])
    await engine.wait_all([task.id for task in tasks])

    def read(reader: int) -> list[str]:
        other = open_engine(home)
        told: list[str] = []
        while batch := other.take_notices("user", reader=f"reader {reader}", limit=5):
            told += [notice.run_id for notice in batch]
        other.close()
        return told

    with ThreadPoolExecutor(4) as pool:
        told = [run_id for answer in pool.map(read, range(4)) for run_id in answer]
    assert sorted(told) == sorted(task.latest.id for task in tasks)


@pytest.mark.fault("F7")
async def test_what_a_reader_took_and_could_not_note_is_told_to_the_next(
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
async def test_no_way_of_looking_at_a_task_swallows_its_notice(engine: TestEngine) -> None:
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
async def test_only_the_owner_is_told(engine: TestEngine) -> None:
    mine = await engine.finished("true", owner="chat-1")
    await engine.finished("true", owner="chat-2")

    assert [notice.run_id for notice in await engine.take_notices("chat-1")] == [mine.latest.id]
    assert await engine.take_notices("user") == []
    assert len(await engine.take_notices("chat-2")) == 1


async def test_the_session_in_the_launcher_s_environment_owns_what_it_launches(engine: TestEngine) -> None:
    await engine.finished("true", environ={"ERRANDS_SESSION": "chat-7", "PATH": "/bin:/usr/bin"})
    assert len(await engine.take_notices("chat-7")) == 1


@pytest.mark.parametrize(
    ("policy", "told"), [("always", ["completed", "failed"]), ("on_failure", ["failed"]), ("never", [])]
)
async def test_the_policy_of_a_task_decides_which_ends_are_told(
    engine: TestEngine, policy: str, told: list[str]
) -> None:
    for command in ("true", "false"):
        await engine.finished(command, notify=policy)
    assert [notice.event for notice in await engine.take_notices()] == told


async def test_the_policy_of_the_configuration_holds_unless_the_task_says_otherwise(home: Home) -> None:
    async with embedded(home.path, **{"notices.policy": "never"}) as engine:
        await engine.finished("true")
        told = await engine.finished("true", notify="always")
        assert [notice.run_id for notice in await engine.take_notices()] == [told.latest.id]


async def test_a_notice_is_bounded_whatever_the_task_is_called(engine: TestEngine) -> None:
    await engine.finished("echo " + "x" * 10_000, description="d" * 10_000)
    [notice] = await engine.take_notices()

    told = json.loads(notice.body)
    assert len(notice.body) < 1500
    assert told["command"].endswith("…")
    assert told["description"].endswith("…")


@pytest.mark.spec("S7")
async def test_the_notice_of_a_command_that_is_waited_for_is_kept_back_a_moment(engine: TestEngine) -> None:
    task = await engine.submit("sleep 0.1", parent="chat", owner="chat")
    await engine.expect(task.latest.id)
    await engine.wait(task.id, timeout=WITHIN)
    assert await engine.take_notices("chat") == []
    with engine.engine.store as store:
        later = engine.now() + timedelta(seconds=3)
        (notice,) = store.take_inbox("chat", reader="test", now=later, limit=9)
    assert notice.run_id == task.latest.id
