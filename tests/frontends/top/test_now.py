"""Now: what waits for the person, what runs, what has failed, and what comes next."""

from __future__ import annotations

import pytest

from errands.bootstrap import open_engine
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.testing.engines import TestEngine
from tests.frontends.top.viewer import viewing

pytestmark = pytest.mark.spec("X9")


def proposed(home: Home, command: str) -> str:
    """Propose a command, as an agent would; return the id of its task."""
    asking = open_engine(home)
    try:
        return asking.submit(Draft(command=command, propose=True, cwd="/")).id
    finally:
        asking.close()


async def test_the_first_screen_has_four_groups(engine: TestEngine, home: Home) -> None:
    asked = proposed(home, "rm -rf build")
    runs = await engine.started("echo ready; read line", input="pipe")
    failed = await engine.finished("exit 3")
    later = await engine.submit("true", at="in 2h")

    async with viewing(home) as viewer:
        screen = await viewer.shows(asked, runs.id, failed.id, later.id)

    order = [
        "WAITING FOR YOU · 1", asked, "RUNNING · 1", runs.id, "NEW FAILURES · 1", failed.id,
        "NEXT · 1", later.id,
    ]  # fmt: skip
    places = [screen.index(each) for each in order]
    assert places == sorted(places)
    assert "1 waiting for you · 1 running · 1 failed" in screen


async def test_the_current_run_of_a_recurring_task_is_running(engine: TestEngine, home: Home) -> None:
    hourly = await engine.submit("echo ready; read line", name="hourly", every="1h", input="pipe")
    await engine.fire(hourly.id)
    await engine.printed(hourly.id, "ready")

    async with viewing(home) as viewer:
        screen = await viewer.shows(hourly.id, "RUNNING · 1", "Nothing comes next.")

    assert "1 running" in screen
    assert "running now" in screen


async def test_what_comes_next_is_in_the_order_of_time(engine: TestEngine, home: Home) -> None:
    await engine.submit("true", name="waits", hold=True)
    await engine.submit("true", name="later", at="in 9h")
    await engine.submit("true", name="hourly", every="1h")
    await engine.submit("true", name="soon", at="in 20m")
    await engine.submit("true", name="daily", every="1d")

    async with viewing(home) as viewer:
        screen = await viewer.shows("NEXT · 5", "daily-", "waits-")

    names = ("soon-", "hourly-", "later-", "daily-", "waits-")
    places = [screen.index(each) for each in names]
    assert places == sorted(places)


async def test_what_stands_above_the_first_row_stays_in_sight(engine: TestEngine, home: Home) -> None:
    await engine.submit_all([Draft(command=("true",), hold=True) for _ in range(60)])

    async with viewing(home) as viewer:
        await viewer.shows("NEXT · 20", "Nothing is waiting for you.")
        await viewer.press("G")
        await viewer.hides("Nothing is waiting for you.")
        await viewer.press("g")
        await viewer.shows("Nothing is waiting for you.", "NEXT · 20")


async def test_a_group_without_tasks_says_so(engine: TestEngine, home: Home) -> None:
    async with viewing(home) as viewer:
        await viewer.shows(
            "Nothing is waiting for you.",
            "Nothing is running.",
            "No new failures.",
            "Nothing comes next.",
            "No tasks yet: press o to start one",
        )
        await engine.finished("true")
        await viewer.hides("No tasks yet")


async def test_what_happens_elsewhere_is_seen(engine: TestEngine, home: Home) -> None:
    async with viewing(home) as viewer:
        await viewer.shows("Nothing is running.")
        task = await engine.started("echo ready; read line", input="pipe")
        await viewer.shows("RUNNING · 1", task.id)
        asked = proposed(home, "rm -rf build")
        await viewer.shows("WAITING FOR YOU · 1", asked)
        await engine.cancel(task.id)
        await viewer.shows("Nothing is running.")


async def test_the_preview_shows_the_output_of_the_chosen_task(engine: TestEngine, home: Home) -> None:
    task = await engine.started("echo ready; read line; echo $line; read line", input="pipe")

    async with viewing(home) as viewer:
        await viewer.shows(f"{task.id} output", "ready")
        await engine.send(task.id, b"and more\n")
        await viewer.shows("and more")


async def test_the_chosen_row_stays_chosen_when_others_come(engine: TestEngine, home: Home) -> None:
    first = await engine.started("echo ready; read line", input="pipe")
    async with viewing(home) as viewer:
        await viewer.shows(f"{first.id} output")
        before = viewer.app.rows
        height = before.place - before.top

        other = proposed(home, "rm -rf build")
        await viewer.shows(other)

        assert viewer.app.rows.chosen == first.id
        assert viewer.app.rows.place - viewer.app.rows.top in (height, viewer.app.rows.place)


async def test_what_was_seen_is_not_shown_again(engine: TestEngine, home: Home) -> None:
    failed = await engine.finished("exit 3")
    async with viewing(home) as viewer:
        await viewer.shows(failed.id)
        await viewer.press("d")
        await viewer.hides(failed.id)
    async with viewing(home) as viewer:
        await viewer.shows("No new failures.")
        again = await engine.finished("exit 4")
        await viewer.shows(again.id)
