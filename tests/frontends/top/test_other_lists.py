"""Timeline, Schedules and Lanes."""

from __future__ import annotations

import pytest

from errands.ports.home import Home
from errands.testing.engines import TestEngine, until
from tests.frontends.top.viewer import viewing

pytestmark = pytest.mark.spec("X9")


async def test_the_timeline_has_a_row_for_each_lane_name_or_batch(engine: TestEngine, home: Home) -> None:
    await engine.finished("true", name="good", batch="nightly")
    failed = await engine.finished("exit 3", name="bad", batch="nightly")

    async with viewing(home) as viewer:
        await viewer.press("3")
        await viewer.shows("the last 1h, by lane", "shell ")
        await viewer.press("-")
        await viewer.shows("the last 6h")
        await viewer.press("+", "+")
        await viewer.shows("the last 15m")
        await viewer.press("o")
        await viewer.shows("by name", "good ", "bad ")
        await viewer.press("g", "enter")
        await viewer.shows(f"{failed.id}  ✗ failed")
        await viewer.press("escape", "o")
        await viewer.shows("by batch", "nightly ")


async def test_schedules_show_their_rule_and_latest_slots(engine: TestEngine, home: Home) -> None:
    task = await engine.submit("true", name="often", every="1s")
    await until(lambda: len(engine.engine.schedules.ledger(task.id)) >= 2)

    async with viewing(home) as viewer:
        await viewer.press("4")
        await viewer.shows(task.id, "every 1s", "✓✓")
        await viewer.press("p")
        await viewer.shows(f"paused {task.id}")
        assert engine.engine.view(task.id).state == "paused"
        await viewer.press("p")
        await viewer.shows(f"unpaused {task.id}")


async def test_lanes_show_their_use_and_take_a_width(engine: TestEngine, home: Home) -> None:
    await engine.started("echo ready; read line", input="pipe", lane="shell")

    async with viewing(home) as viewer:
        await viewer.press("5")
        await viewer.shows("shell", "1 of ")
        lanes = [each.name for each in engine.engine.queue.lanes()]
        await viewer.press(*["j"] * lanes.index("shell"), "=")
        await viewer.shows("width of lane shell")
        await viewer.types("wide")
        await viewer.shows("a width is a number, not 'wide'")
        await viewer.press("=")
        await viewer.types("7")
        await viewer.shows("lane shell is 7 wide", "1 of 7")
    assert engine.engine.lane_widths()["shell"] == 7
