"""A recurring task can be edited between two runs: what it runs, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.errors import BadValue, IllegalMove
from errands.model.options.draft import Draft
from errands.model.trigger import Every, described
from errands.ports.home import Home
from errands.testing.engines import TestEngine, embedded, until

HOUR = timedelta(hours=1)
WAITING = "echo ready; read line"


def next_at(engine: Engine, task_id: str) -> datetime | None:
    standing = engine.get(task_id).standing
    assert standing is not None
    return standing.next_at


def schedule(engine: TestEngine, task_id: str) -> str:
    return described(engine.engine.store.task(task_id).trigger)


async def fired(engine: TestEngine, task_id: str) -> None:
    """Run a recurring task now, and wait for the end of that run."""
    before = len(engine.engine.store.history(task_id))
    await engine.fire(task_id)

    def is_over() -> bool:
        runs = engine.engine.store.history(task_id)
        return len(runs) > before and all(run.completed_at is not None for run in runs)

    await until(is_over)


@pytest.mark.spec("L28")
async def test_the_next_run_is_what_the_task_is_now(engine: TestEngine, tmp_path: Path) -> None:
    task = await engine.submit("echo old", every="6h", name="nightly", timeout="1h")
    await fired(engine, task.id)
    edited = await engine.edit(task.id, command="echo new; pwd", cwd=str(tmp_path), every="2h", idle="30m")
    assert (edited.id, edited.command, edited.state) == (task.id, "echo new; pwd", "active")
    assert edited.standing is not None
    assert edited.standing.next_at is not None
    assert timedelta() < edited.standing.next_at - datetime.now(UTC) <= 2 * HOUR
    limits = ((await engine.get(task.id)).details or {})["limits"]
    assert (limits["timeout"], limits["idle"]) == (3600, 1800)

    await fired(engine, task.id)
    assert (await engine.text(task.id)).endswith(f"new\n{tmp_path}\n")
    assert [run.state for run in engine.engine.store.history(task.id)] == ["completed", "completed"]
    assert "edited" in [event.name for event in await engine.events(task.id)]


@pytest.mark.spec("L28")
async def test_a_part_of_a_schedule_is_edited_and_the_rest_stays(engine: TestEngine) -> None:
    task = await engine.submit("true", cron="0 3 * * *", zone="Asia/Tokyo", jitter="5m")
    await engine.edit(task.id, hours="1-5")
    assert schedule(engine, task.id) == "cron 0 3 * * * (Asia/Tokyo), within 1-5, up to 5m later"
    await engine.edit(task.id, every="1h")
    assert schedule(engine, task.id) == "every 1h, within 1-5 (Asia/Tokyo), up to 5m later"


async def test_what_is_not_about_the_schedule_leaves_its_times_alone(engine: TestEngine) -> None:
    task = await engine.submit("true", every="6h")
    before = next_at(engine.engine, task.id)
    await engine.edit(task.id, command="echo other", notify="never")
    assert next_at(engine.engine, task.id) == before
    await engine.edit(task.id, max_runs=5)  # of the schedule, but the interval stays
    assert next_at(engine.engine, task.id) == before


@pytest.mark.spec("L28")
def test_an_edit_that_needs_approval_holds_the_schedule_until_a_person_agrees(
    asking: Engine, harm: Draft
) -> None:
    task = asking.submit(Draft(command="true", every=6 * HOUR))
    assert next_at(asking, task.id) is not None
    edited = asking.queue.edit(task.id, command=harm.command)
    assert (edited.state, edited.approved_by, next_at(asking, task.id)) == ("proposed", None, None)

    asking.approve(task.id, by="ada", door="python")
    approved = asking.get(task.id)
    assert (approved.state, approved.approved_by) == ("active", "ada")
    assert next_at(asking, task.id) is not None

    worse = asking.queue.edit(task.id, command=("rm", "-rf", "other"))  # an approval is about what was shown
    assert (worse.state, worse.approved_by) == ("proposed", None)
    harmless = asking.queue.edit(task.id, command="true", every=HOUR)
    assert (harmless.state, harmless.approved_by, harmless.question) == ("active", "judge", None)
    assert next_at(asking, task.id) is not None


async def test_a_rejected_edit_ends_a_task_that_has_run_before(home: Home, harm: Draft) -> None:
    async with embedded(home.path, yes=False) as engine:
        task = await engine.submit("true", every="6h")
        await fired(engine, task.id)
        edited = await engine.edit(task.id, command=harm.command)
        assert edited.question is not None
        assert edited.question.run == 2
        engine.engine.reject(task.id, by="ada", door="python")
        rejected = await engine.get(task.id)
        assert rejected.state == "rejected"
        assert next_at(engine.engine, task.id) is None


async def test_a_task_that_runs_is_not_edited(engine: TestEngine) -> None:
    task = await engine.submit(WAITING, every="6h", input="pipe")
    await engine.fire(task.id)
    await engine.printed(task.id, "ready")
    with pytest.raises(IllegalMove, match=r"run 1 of .* is running"):
        await engine.edit(task.id, command="true")


async def test_a_paused_task_stays_paused(engine: TestEngine) -> None:
    task = await engine.submit("true", every="6h")
    await engine.pause(task.id)
    edited = await engine.edit(task.id, command="echo other", every="1h")
    assert (edited.state, next_at(engine.engine, task.id)) == ("paused", None)
    await engine.unpause(task.id)
    at = next_at(engine.engine, task.id)
    assert at is not None
    assert at - datetime.now(UTC) <= HOUR


def test_a_paused_task_whose_edit_needs_approval_is_unpaused_first(asking: Engine, harm: Draft) -> None:
    task = asking.submit(Draft(command="true", every=HOUR))
    asking.schedules.pause(task.id)
    with pytest.raises(IllegalMove, match="unpause it first"):
        asking.queue.edit(task.id, command=harm.command)
    assert asking.get(task.id).command == "true"


async def test_an_event_is_edited_and_its_source_is_looked_at_afresh(
    engine: TestEngine, tmp_path: Path
) -> None:
    task = await engine.submit("true", on=f"file:{tmp_path}/*.py", on_options={"events": "created"})
    await engine.edit(task.id, debounce="5s")
    assert schedule(engine, task.id) == f"on file:{tmp_path}/*.py, events created"
    await engine.edit(task.id, on=f"file:{tmp_path}/*.js")
    assert schedule(engine, task.id) == f"on file:{tmp_path}/*.js"
    for changes in ({"every": "1h"}, {"cron": "@daily"}):
        with pytest.raises(BadValue, match="waits for events, which cannot be changed"):
            await engine.edit(task.id, **changes)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"at": "18:30"}, "has no start time"),
        ({"on": "file:*.py"}, "follows a schedule, which cannot be changed"),
        ({"max_runs": 1}, "max_runs must be more than 1"),
        ({"retries": 2}, "for a task that runs once"),
        ({"rate": 2}, "has no effect without on"),
        ({"hours": "25-26"}, "hours"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_what_has_no_meaning_for_a_schedule_is_refused(
    engine: TestEngine, changes: dict[str, Any], why: str
) -> None:
    task = await engine.submit("true", every="6h")
    await fired(engine, task.id)
    with pytest.raises(BadValue, match=why):
        await engine.edit(task.id, **changes)
    trigger = engine.engine.store.task(task.id).trigger
    assert isinstance(trigger, Every)
    assert trigger.max_runs is None


def test_a_recurring_prompt_is_edited(home: Home) -> None:
    engine = open_engine(home)
    try:
        task = engine.submit(Draft(prompt="run `echo old`", agent="offline", every=HOUR))
        edited = engine.queue.edit(task.id, prompt="run `echo new`", every=2 * HOUR)
        assert (edited.command, edited.state) == ("run `echo new`", "active")
        assert engine.queue.edit(task.id, allow=("git push *",)).state == "proposed"
    finally:
        engine.close()
