"""Waiting for an agent's notices: woken by one, over when none can come, and at most two waiters in line."""

from __future__ import annotations

import asyncio
import fcntl
import glob
import threading

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.engine.notices.notice_waiter import GATHER, attend, turn
from errands.model.view import View
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import TestEngine, until

OWNER = "agent"


async def wait_for_notices(home: Home, *, is_wanted: bool = True) -> bool:
    """Wait as a separate process would, while the loops run here."""

    def wait() -> bool:
        engine = open_engine(home)
        engine.start_daemon = _start_none
        try:
            return attend(engine, OWNER, is_wanted=lambda: is_wanted)
        finally:
            engine.close()

    return await asyncio.to_thread(wait)


def _start_none() -> None:
    raise AssertionError("a daemon runs already")


async def test_a_notice_ends_the_wait(engine: TestEngine, home: Home) -> None:
    await engine.submit("sleep 0.2", owner=OWNER)

    assert await wait_for_notices(home)


async def test_a_waiter_returns_at_once_when_no_notice_can_come(engine: TestEngine, home: Home) -> None:
    await engine.submit("sleep 300", owner="another")

    assert not await wait_for_notices(home)


@pytest.mark.spec("N6")
async def test_a_run_of_a_schedule_ends_the_wait(engine: TestEngine, home: Home) -> None:
    view = await engine.submit("echo news", owner=OWNER, every="1h")
    waiting = asyncio.create_task(wait_for_notices(home))
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done

    await engine.fire(view.id)
    assert await waiting


async def test_a_waiter_that_is_no_longer_wanted_returns(engine: TestEngine, home: Home) -> None:
    await engine.submit("sleep 300", owner=OWNER)

    assert not await wait_for_notices(home, is_wanted=False)


async def test_a_proposal_does_not_end_the_wait_but_its_answer_does(engine: TestEngine, home: Home) -> None:
    view = await engine.submit("true", owner=OWNER, propose=True)
    waiting = asyncio.create_task(wait_for_notices(home))
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done

    await engine.reject(view.id, by="ada")
    assert await waiting


async def test_a_task_that_ends_while_open_tasks_are_counted_is_reported(
    engine: TestEngine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await engine.started("echo ready; read line", input="pipe", owner=OWNER)
    loop, count = asyncio.get_running_loop(), Engine.list

    async def end() -> None:
        await engine.send(view.id, b"\n")
        await engine.wait(view.id)

    def list_late(self: Engine, query: Query) -> list[View]:
        monkeypatch.setattr(Engine, "list", count)
        asyncio.run_coroutine_threadsafe(end(), loop).result(10)
        return count(self, query)

    monkeypatch.setattr(Engine, "list", list_late)

    assert await wait_for_notices(home)


@pytest.mark.trap(1)
async def test_a_result_another_caller_blocks_for_does_not_end_the_wait(
    engine: TestEngine, home: Home
) -> None:
    view = await engine.started("echo ready; read line", input="pipe", owner=OWNER, parent=OWNER)
    await engine.expect(view.latest.id)
    waiting = asyncio.create_task(wait_for_notices(home))
    await engine.send(view.id, b"\n")
    await engine.wait(view.id)

    done, _ = await asyncio.wait([waiting], timeout=GATHER + 0.3)
    assert not done  # the blocking caller may be slow to acknowledge it
    await engine.acknowledge(view.latest.id, reader="test")
    assert not await waiting


@pytest.mark.trap(12)
async def test_a_result_is_delivered_if_the_caller_that_blocked_for_it_is_gone(
    engine: TestEngine, home: Home
) -> None:
    view = await engine.submit("true", owner=OWNER, parent=OWNER)
    await engine.expect(view.latest.id)
    await engine.wait(view.id)

    assert await wait_for_notices(home)


async def test_one_waits_one_is_next_in_line_and_the_others_return(client: Engine) -> None:
    turns: list[bool] = []

    def second() -> None:
        with turn(client, OWNER) as is_mine:
            turns.append(is_mine)

    with turn(client, OWNER) as first:
        assert first
        waiting = threading.Thread(target=second)
        waiting.start()
        await until(lambda: not _is_free(client))
        with turn(client, OWNER) as third:
            assert not third
        with turn(client, "another") as theirs:
            assert theirs
        assert turns == []
    waiting.join()
    assert turns == [True]


def _is_free(client: Engine) -> bool:
    """Return whether the place of the next waiter is free."""
    (path,) = glob.glob(f"{client.home.path}/attending/*.next")
    with open(path, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
