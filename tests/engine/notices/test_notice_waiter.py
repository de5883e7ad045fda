"""Waiting beside an agent: woken by news, over when none can come, and never more than one and one."""

from __future__ import annotations

import asyncio
import fcntl
import glob
import threading

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.engine.notices.notice_waiter import GATHER, attend, turn
from errands.ports.home import Home
from errands.testing.engines import TestEngine, until

OWNER = "agent"


async def attended(home: Home, *, is_wanted: bool = True) -> bool:
    """Wait as a process of its own would, while the loops run here."""

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


async def test_news_end_the_wait(engine: TestEngine, home: Home) -> None:
    await engine.submit("sleep 0.2", owner=OWNER)

    assert await attended(home)


async def test_where_nothing_can_come_nobody_waits(engine: TestEngine, home: Home) -> None:
    await engine.submit("sleep 30", owner="somebody else")

    assert not await attended(home)


async def test_whoever_is_not_wanted_any_more_goes(engine: TestEngine, home: Home) -> None:
    await engine.submit("sleep 30", owner=OWNER)

    assert not await attended(home, is_wanted=False)


async def test_a_proposal_is_no_news_but_its_answer_is(engine: TestEngine, home: Home) -> None:
    view = await engine.submit("true", owner=OWNER, propose=True)
    waiting = asyncio.create_task(attended(home))
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done

    await engine.reject(view.id, by="ada")
    assert await waiting


@pytest.mark.trap(1)
async def test_what_somebody_blocks_for_is_no_news(engine: TestEngine, home: Home) -> None:
    view = await engine.submit("sleep 0.2", owner=OWNER, parent=OWNER)
    await engine.expect(view.latest.id)
    waiting = asyncio.create_task(attended(home))
    await engine.wait(view.id)

    done, _ = await asyncio.wait([waiting], timeout=GATHER + 0.3)
    assert not done  # whoever blocks may be slow to say that it has arrived
    await engine.acknowledge(view.latest.id, reader="test")
    assert not await waiting


@pytest.mark.trap(12)
async def test_who_blocked_and_is_gone_is_told_after_all(engine: TestEngine, home: Home) -> None:
    view = await engine.submit("true", owner=OWNER, parent=OWNER)
    await engine.expect(view.latest.id)
    await engine.wait(view.id)

    assert await attended(home)


async def test_one_waits_one_is_next_and_the_others_go(client: Engine) -> None:
    came: list[bool] = []

    def second() -> None:
        with turn(client, OWNER) as is_mine:
            came.append(is_mine)

    with turn(client, OWNER) as first:
        assert first
        waiting = threading.Thread(target=second)
        waiting.start()
        await until(lambda: not _is_free(client))
        with turn(client, OWNER) as third:
            assert not third
        with turn(client, "another") as theirs:
            assert theirs
        assert came == []
    waiting.join()
    assert came == [True]


def _is_free(client: Engine) -> bool:
    """Tell whether nobody is next in line."""
    (path,) = glob.glob(f"{client.home.path}/attending/*.next")
    with open(path, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
