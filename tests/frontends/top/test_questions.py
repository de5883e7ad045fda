"""Questions: nothing is approved whose whole text was not on the screen, and nothing by a run."""

from __future__ import annotations

import pytest

from errands.bootstrap import open_engine
from errands.engine.approval import approve
from errands.frontends.top.task import question_view
from errands.ports.home import Home
from errands.testing.engines import TestEngine, until
from tests.frontends.top.test_now import proposed
from tests.frontends.top.viewer import viewing

pytestmark = pytest.mark.spec("X9")
LONG = "\n".join(f"echo step {number}; rm -rf build/{number}" for number in range(60))


async def test_y_shows_the_question_and_y_again_approves(engine: TestEngine, home: Home) -> None:
    asked = proposed(home, "rm -rf build")
    async with viewing(home) as viewer:
        await viewer.shows(asked)
        await viewer.press("y")
        await viewer.shows("command    │ rm -rf build", "because", "Start it?")
        assert (await engine.get(asked)).state == "proposed"
        await viewer.press("y")
        await viewer.shows(f"approved {asked}")
        await until(lambda: engine.engine.view(asked).state == "completed")
    (record,) = engine.engine.approvals(asked)
    assert record.door == "top"
    assert record.state == "granted"


async def test_a_long_question_is_read_to_its_end_first(engine: TestEngine, home: Home) -> None:
    asked = proposed(home, LONG)
    async with viewing(home) as viewer:
        await viewer.shows(asked)
        await viewer.press("y")
        await viewer.shows("echo step 0;", "more lines to read")
        await viewer.press("G")
        await viewer.shows("deletes build/59 recursively")
        await viewer.press("y")
        await viewer.shows("read all of it first")
        assert (await engine.get(asked)).state == "proposed"

        pressed = 0
        while engine.engine.view(asked).state == "proposed":
            assert pressed < 500
            pressed += 1
            await viewer.press("y")
            await viewer.pilot.pause()
    # The lines between were on the screen one page at a time.
    assert pressed > 3


async def test_a_key_just_after_the_question_appeared_is_no_answer(
    engine: TestEngine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_view, "SETTLE", 3600.0)
    asked = proposed(home, "rm -rf build")
    async with viewing(home) as viewer:
        await viewer.shows(asked)
        await viewer.press("y")
        await viewer.shows("Start it?")
        await viewer.press("y")
        await viewer.shows("the question has just appeared")
    assert (await engine.get(asked)).state == "proposed"


async def test_n_rejects_with_a_note(engine: TestEngine, home: Home) -> None:
    asked = proposed(home, "rm -rf build")
    async with viewing(home) as viewer:
        await viewer.shows(asked)
        await viewer.press("y")
        await viewer.shows("Start it?")
        await viewer.press("n")
        await viewer.shows("a note for who asked")
        await viewer.types("not on a Friday")
        await viewer.shows(f"rejected {asked}")
    (record,) = engine.engine.approvals(asked)
    assert (record.state, record.note) == ("refused", "not on a Friday")


async def test_escape_takes_a_rejection_back(engine: TestEngine, home: Home) -> None:
    asked = proposed(home, "rm -rf build")
    async with viewing(home) as viewer:
        await viewer.shows(asked)
        await viewer.press("n")
        await viewer.shows("Start it?")
        await viewer.press("n")
        await viewer.shows("a note for who asked")
        await viewer.press("escape", "escape")
        await viewer.shows("WAITING FOR YOU · 1")
    assert (await engine.get(asked)).state == "proposed"


async def test_an_answer_that_is_not_offered_is_refused(engine: TestEngine, home: Home) -> None:
    asked = proposed(home, "bash script.sh")
    async with viewing(home) as viewer:
        await viewer.shows(asked)
        await viewer.press("a")
        await viewer.shows("Start it?")
        await viewer.press("a")
        await viewer.shows("not offered here")
    assert (await engine.get(asked)).state == "proposed"


async def test_always_is_recorded_as_such(engine: TestEngine, home: Home) -> None:
    asked = proposed(home, "touch made")
    async with viewing(home) as viewer:
        await viewer.shows(asked)
        await viewer.press("a")
        await viewer.shows("a always")
        await viewer.press("a")
        await viewer.shows(f"approved {asked} always")
    assert [each.command for each in engine.engine.standing_approvals()] == ["touch made"]


async def test_a_rejected_task_can_be_approved_after_all(engine: TestEngine, home: Home) -> None:
    asked = proposed(home, "rm -rf build")
    engine.engine.reject(asked, by="ada", door="terminal")
    async with viewing(home) as viewer:
        await viewer.press("2")
        await viewer.shows(asked)
        await viewer.press("enter")
        await viewer.shows(f"{asked}  ✗ rejected")
        assert (await engine.get(asked)).state == "rejected"  # looking at it asks nothing
        await viewer.press("y")
        await viewer.shows("Start it?")
        await viewer.press("y")
        await viewer.shows(f"approved {asked}")


@pytest.mark.spec("A4")
async def test_a_run_cannot_approve_through_it(
    engine: TestEngine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = proposed(home, "rm -rf build")
    monkeypatch.setenv("ERRANDS_RUN_ID", "pytest-7k2m4x.1")
    monkeypatch.setattr(approve, "_enclosing", [])
    async with viewing(home) as viewer:
        await viewer.shows(asked)
        await viewer.press("y")
        await viewer.shows("Start it?")
        await viewer.press("y")
        await viewer.shows("a process cannot consent")
    assert (await engine.get(asked)).state == "proposed"


async def test_a_question_that_changes_has_to_be_read_again(engine: TestEngine, home: Home) -> None:
    asked = proposed(home, "rm -rf build")
    async with viewing(home) as viewer:
        await viewer.shows(asked)
        await viewer.press("y")
        await viewer.shows("rm -rf build", "Start it?")
        number = viewer.app.task_view.question.number
        client = open_engine(home)
        client.queue.edit(asked, command="rm -rf dist")
        client.close()
        await viewer.shows("rm -rf dist", "Start it?")
        assert viewer.app.task_view.question.number != number


async def test_hostile_text_is_spelled_out(engine: TestEngine, home: Home) -> None:
    asked = proposed(home, "rm -rf build; echo '\x1b[2J\u202egnp' '[bold]no[/bold]'")
    async with viewing(home) as viewer:
        await viewer.shows(asked)
        await viewer.press("y")
        screen = await viewer.shows("Start it?")
    assert "<U+001B>[2J<U+202E>gnp" in screen
    assert "[bold]no[/bold]" in screen
    assert "\x1b" not in screen
    assert "\u202e" not in screen
