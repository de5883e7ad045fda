"""Batches: tasks of one operation are listed, awaited, cancelled and cleared together."""

from __future__ import annotations

import pytest

from errands.model.errors import StillLive
from errands.testing.engines import TestEngine


@pytest.mark.spec("L13")
async def test_a_batch_is_listed_on_its_own(engine: TestEngine) -> None:
    await engine.finished("true")
    mine = [await engine.submit("true", batch="release") for _ in range(3)]
    await engine.submit("true", batch="another")

    assert [view.id for view in await engine.list(batch="release")] == [task.id for task in reversed(mine)]


@pytest.mark.spec("L13")
async def test_a_batch_is_awaited_as_a_whole(engine: TestEngine) -> None:
    for code in range(4):
        await engine.submit(f"exit {code}", batch="release")
    other = await engine.started("echo ready; sleep 1000")
    batch = [view.id for view in await engine.list(batch="release")]

    ended = await engine.wait_all(batch, timeout=60)
    assert sorted(view.latest.exit_code or 0 for view in ended) == [0, 1, 2, 3]
    assert (await engine.get(other.id)).is_live


@pytest.mark.spec("L13")
async def test_a_batch_is_cancelled_and_cleared_as_a_whole(engine: TestEngine) -> None:
    running = await engine.started("echo ready; sleep 1000", batch="release")
    waiting = await engine.submit("true", batch="release", after=[running.id])
    other = await engine.started("echo ready; sleep 1000")
    batch = [view.id for view in await engine.list(batch="release")]
    assert set(batch) == {running.id, waiting.id}

    with pytest.raises(StillLive, match=running.id):
        await engine.clear(*batch)
    await engine.cancel(*batch)
    await engine.wait_all(batch)
    await engine.clear(*batch)

    assert [view.id for view in await engine.list()] == [other.id]
    assert (await engine.get(other.id)).state == "running"
