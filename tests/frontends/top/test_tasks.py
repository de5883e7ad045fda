"""Tasks: the list of all of them, its filter, the selection, and what is done to several at once."""

from __future__ import annotations

import pytest
from textual.events import MouseScrollUp

from errands.frontends.top.task.log_view import LogView
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.testing.engines import TestEngine, until
from tests.frontends.top.viewer import viewing

pytestmark = pytest.mark.spec("X9")


async def test_it_lists_every_task_newest_first(engine: TestEngine, home: Home) -> None:
    first = await engine.finished("true", name="first")
    second = await engine.finished("exit 3", name="second")

    async with viewing(home) as viewer:
        await viewer.press("2")
        screen = await viewer.shows(first.id, second.id)
        third = await engine.finished("true", name="third")
        await viewer.shows(third.id)

    assert screen.index(second.id) < screen.index(first.id)


async def test_the_filter_takes_words_and_fields(engine: TestEngine, home: Home) -> None:
    made = await engine.finished("true", name="build")
    failed = await engine.finished("exit 3", name="test")

    async with viewing(home) as viewer:
        await viewer.press("slash")
        await viewer.shows("filter: words")
        await viewer.types("state:failed")
        await viewer.hides(made.id)
        await viewer.shows(failed.id, "1 of 2")
        await viewer.press("escape")
        await viewer.shows(made.id, failed.id)
        await viewer.press("slash")
        await viewer.types("nothing like it")
        await viewer.shows("None of 2 tasks matches 'nothing like it'; Esc removes the filter.")


async def test_what_matches_is_cancelled_together_after_a_question(engine: TestEngine, home: Home) -> None:
    tasks = [await engine.started("echo ready; read line", input="pipe", name="wait") for _ in range(2)]
    other = await engine.started("echo ready; read line", input="pipe", name="other")

    async with viewing(home) as viewer:
        await viewer.press("slash")
        await viewer.types("wait-")
        await viewer.hides(other.id)
        await viewer.press("X", "c")
        await viewer.shows("cancel 2 tasks?")
        await viewer.press("j")
        await viewer.shows("nothing was done")
        assert all(engine.engine.view(each.id).state == "running" for each in tasks)
        await viewer.press("c", "y")
        await viewer.shows("cancelled 2 tasks")
        await until(lambda: all(engine.engine.view(each.id).state == "cancelled" for each in tasks))
    assert engine.engine.view(other.id).state == "running"


async def test_selected_tasks_are_restarted(engine: TestEngine, home: Home) -> None:
    task = await engine.finished("echo again", name="once")
    async with viewing(home) as viewer:
        await viewer.press("2")
        await viewer.shows(task.id)
        await viewer.press("r", "y")
        await viewer.shows(f"restarted {task.id}")
        await until(lambda: engine.engine.view(task.id).runs == 2)


async def test_a_refusal_is_said_in_the_words_of_the_engine(engine: TestEngine, home: Home) -> None:
    task = await engine.finished("true", name="once")
    async with viewing(home) as viewer:
        await viewer.press("2")
        await viewer.shows(task.id)
        await viewer.press("p")
        await viewer.shows("is completed; there is nothing to pause")


async def test_a_thousand_tasks_are_drawn_by_line(engine: TestEngine, home: Home) -> None:
    views = await engine.submit_all([Draft(command=("true",), hold=True) for _ in range(1200)])
    async with viewing(home) as viewer:
        await viewer.press("2")
        await viewer.shows("1,200")
        await viewer.press("G")
        await viewer.shows(views[0].id)
        drawn = len(viewer.app.query("*"))
        assert drawn < 40


async def test_the_mouse_chooses_opens_scrolls_and_changes_the_view(engine: TestEngine, home: Home) -> None:
    tasks = [await engine.finished("seq 1000", name=f"count{number}") for number in range(3)]
    async with viewing(home) as viewer:
        assert await viewer.pilot.click("#tabs", offset=(9, 0))
        await viewer.shows(*(task.id for task in tasks))
        assert await viewer.pilot.click("#tasks", offset=(5, 1))
        await viewer.shows(f"{tasks[1].id} output")
        assert not viewer.app.has_task
        assert await viewer.pilot.click("#tasks", offset=(5, 1))
        await viewer.shows(f"{tasks[1].id}  ✓ completed", "1000", "follow")
        viewer.app.task_view.output.post_message(_wheel_up(viewer.app.task_view.output))
        await viewer.hides("follow ·")
        assert not viewer.app.task_view.output.is_following
        assert await viewer.pilot.click("#parts", offset=(11, 0))
        await viewer.shows("submit")
        assert viewer.app.task_view.part == "runs"


def _wheel_up(widget: LogView) -> MouseScrollUp:
    return MouseScrollUp(
        widget, x=1, y=1, delta_x=0, delta_y=-1, button=0, shift=False, meta=False, ctrl=False
    )


async def test_what_has_ended_is_not_cancelled(engine: TestEngine, home: Home) -> None:
    task = await engine.finished("exit 3")
    async with viewing(home) as viewer:
        await viewer.press("2")
        await viewer.shows(task.id)
        await viewer.press("c")
        await viewer.shows("there is nothing to cancel")
        await viewer.press("y")
        assert engine.engine.view(task.id).state == "failed"


async def test_what_is_on_the_screen_is_copied(engine: TestEngine, home: Home) -> None:
    task = await engine.finished("printf '\\033[31mred\\033[0m one\\nline two\\n'")
    async with viewing(home) as viewer:
        await viewer.press("2")
        await viewer.shows(task.id)
        await viewer.press("enter")
        await viewer.shows("line two")
        await viewer.press("C")
        await viewer.shows("copied what is on the screen")
        assert viewer.app.clipboard == "red one\nline two"
