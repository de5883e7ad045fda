"""A task that runs again and again, as it looks through every dialect, and how it is ended there."""

from __future__ import annotations

from typing import Any

import pytest

from errands.testing.engines import until
from errands.testing.speaker import Speaker, Stage, facts, fenced

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.spec("X1", "X2", "X3", "X4", "X5", "T7"),
]

LOOKS: dict[str, tuple[str, str]] = {
    "native": ("output", "id"),
    "opencode": ("background_output", "task_id"),
    "claude": ("TaskOutput", "task_id"),
    "co": ("check_task_status", "task_id"),
}
LISTS = {
    "native": "tasks",
    "opencode": "background_list",
    "claude": "tasks",
    "co": "list_background_tasks",
    "egirl": "task_list",
}
CANCELS = {
    "native": ("cancel", "id"),
    "opencode": ("background_cancel", "task_id"),
    "claude": ("KillShell", "shell_id"),
    "co": ("cancel_background_task", "task_id"),
    "egirl": ("task_cancel", "task_id"),
}


async def standing(stage: Stage, session: str, command: str = "echo marmalade", **more: Any) -> str:
    """Have a person schedule something for a session."""
    options = {"every": 3600, "parent": session, "owner": session, "cwd": str(stage.folder), **more}
    return (await stage.engine.submit(command, consent="typed", **options)).id


async def run(stage: Stage, task_id: str) -> None:
    await stage.engine.fire(task_id)
    engine = stage.engine.engine
    await until(lambda: (view := engine.summaries([task_id])[0]).latest.number > 0 and not view.is_live)


async def look(speaker: Speaker, dialect: str, task_id: str) -> str:
    tool, name = LOOKS[dialect]
    return (await speaker(tool, **{name: task_id})).text


WORDS = {  # while it waits for its first run, after it, paused
    "native": ("active [every 1h] (", "active [every 1h] last run: completed", "paused [every 1h]"),
    "opencode": ("running (awaiting its next run)", "running (awaiting its next run)", "running (paused)"),
    "claude": ("Status: Pending", "Status: Pending", "Status: Pending"),
    "co": ("Status: pending", "Status: pending", "Status: pending"),
}


@pytest.mark.parametrize("dialect", WORDS)
async def test_it_waits_runs_and_is_paused(stage: Stage, session: str, dialect: str) -> None:
    speaker = await stage.speaker(dialect, session)
    task_id = await standing(stage, session)
    first, after, paused = WORDS[dialect]
    said = await look(speaker, dialect, task_id)
    assert first in said
    assert "data, not instructions" not in said
    await run(stage, task_id)
    said = await look(speaker, dialect, task_id)
    assert after in said
    assert "marmalade" in fenced(said)
    await stage.engine.pause(task_id)
    assert paused in await look(speaker, dialect, task_id)
    await stage.engine.cancel(task_id)


@pytest.mark.parametrize("dialect", LISTS)
async def test_it_is_listed_before_its_first_run(stage: Stage, session: str, dialect: str) -> None:
    speaker = await stage.speaker(dialect, session)
    task_id = await standing(stage, session)
    assert task_id in (await speaker(LISTS[dialect])).text
    await stage.engine.cancel(task_id)


@pytest.mark.spec("L9")
@pytest.mark.parametrize("has_run", [False, True])
@pytest.mark.parametrize("dialect", CANCELS)
async def test_it_is_cancelled(stage: Stage, session: str, dialect: str, has_run: bool) -> None:
    speaker = await stage.speaker(dialect, session)
    task_id = await standing(stage, session)
    if has_run:
        await run(stage, task_id)
    tool, name = CANCELS[dialect]
    await speaker(tool, **{name: task_id})
    assert (await stage.engine.get(task_id)).state == "cancelled"
    if dialect != "native":
        assert (await speaker.carrier.call(tool, {name: task_id})).failed


async def test_what_still_stands_is_not_cleared(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("opencode", session)
    task_id = await standing(stage, session)
    await run(stage, task_id)
    said = (await speaker("background_clear")).text
    assert said == f"Nothing was finished.\nStill running, so not cleared: {task_id}"
    await stage.engine.cancel(task_id)
    assert (await speaker("background_clear")).text == f"Cleared: {task_id}"


async def test_waiting_for_it_means_its_run(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("native", session, wake="session")
    task_id = await standing(stage, session, "read line; echo $line", input="pipe")
    await stage.engine.fire(task_id)
    await until(lambda: stage.engine.engine.summaries([task_id])[0].latest.state == "running")
    waits = await speaker("wait", id=task_id, timeout=100)
    assert facts(waits)["run_state"] == "running"
    await stage.engine.send(task_id, b"marmalade\n")
    ended = await speaker("wait", id=task_id, timeout=20_000)
    assert (facts(ended)["state"], facts(ended)["run_state"]) == ("active", "completed")
    assert "marmalade" in fenced(ended.text)
    # A caller that got it by waiting is not notified again.
    assert await stage.engine.take_notices(session) == []
    await stage.engine.cancel(task_id)


async def test_there_is_nothing_to_wait_for_between_runs(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("native", session)
    task_id = await standing(stage, session)
    assert facts(await speaker("wait", id=task_id, timeout=600_000))["state"] == "active"
    await stage.engine.cancel(task_id)


async def test_native_lists_by_state(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("native", session)
    active, paused = await standing(stage, session), await standing(stage, session)
    await stage.engine.pause(paused)
    for state, expected in (("active", [active]), ("paused", [paused]), ("done", [])):
        assert [each["id"] for each in facts(await speaker("tasks", state=state))["tasks"]] == expected
    await stage.engine.cancel(active, paused)
