"""Timeline, Schedules and Lanes."""

from __future__ import annotations

import pytest

from errands.ports.home import Home
from errands.testing.engines import TestEngine, until
from tests.frontends.top.viewer import viewing
from tests.hand_clock import HandClock

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
        await viewer.press("l")
        await viewer.shows("by name", "good ", "bad ")
        await viewer.press("g", "enter")
        await viewer.shows(f"{failed.id}  ✗ failed")
        await viewer.press("escape", "l")
        await viewer.shows("by batch", "nightly ")


async def test_the_timeline_shows_what_comes_and_a_task_among_those_of_its_name(
    engine: TestEngine, home: Home
) -> None:
    runs = await engine.started("echo ready; read line", input="pipe", name="long")
    await engine.submit("true", name="soon", every="30m")

    async with viewing(home) as viewer:
        await viewer.press("2")
        await viewer.shows(runs.id)
        await viewer.press("slash")
        await viewer.types("long")
        await viewer.hides("soon-")
        await viewer.press("t")
        await viewer.shows("the last 15m, by name", "│ now")
        assert viewer.app.rows.chosen == "group long"
        long = next(line for line in viewer.lines if line.startswith(" long "))
        assert long.rstrip().endswith("█│")  # it runs up to now
        await viewer.hides("◇")
        await viewer.press("-", "-")
        await viewer.shows("the last 6h", "◇")
        soon = next(line for line in viewer.lines if line.startswith(" soon "))
        assert "◇" in soon.partition("│")[2]
        assert "◇" not in soon.partition("│")[0]
        await viewer.press("<")
        await viewer.shows("Nothing ran in the 6h before ")
        assert "◇" not in viewer.screen
        await viewer.press(">")
        await viewer.shows("the last 6h", "│ now", "◇")
        await viewer.press("j", "enter")
        await viewer.shows("every 30m", " slots ")


async def test_the_slots_of_a_schedule_stand_in_a_calendar(engine: TestEngine, home: Home) -> None:
    task = await engine.submit("exit 3", name="often", every="1s")
    await until(lambda: any(each.state == "failed" for each in engine.engine.history(task.id)))
    engine.engine.queue.pause(task.id)
    slots = engine.engine.schedules.ledger(task.id)
    first = slots[-1].slot.astimezone()
    of_the_day = sum(each.count for each in slots if each.slot.astimezone().date() == first.date())

    async with viewing(home, clock=HandClock(slots[-1].slot)) as viewer:
        await viewer.press("4")
        await viewer.shows(task.id)
        await viewer.press("enter")
        await viewer.shows(" slots ")
        while viewer.app.task_view.part != "slots":
            await viewer.press("tab")
        await viewer.shows(f"{first:%B %Y}", "Mo ", "no run is scheduled", "Latest", "run 1, failed")
        await viewer.shows(f"{first.day:>2} ✗ {of_the_day}", f"{first:%d %b %H:%M:%S}  ✗ ran")
        await viewer.press("left_square_bracket")
        await viewer.hides(f"{first:%B %Y}")
        await viewer.shows("] after")
        await viewer.press("right_square_bracket", "right_square_bracket")
        await viewer.shows(f"{first:%B %Y}")


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
