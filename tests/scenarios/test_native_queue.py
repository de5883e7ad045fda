"""The queue in our own dialect: control, edit and lanes."""

from __future__ import annotations

import pytest

from errands.model.view import as_json
from errands.testing.engines import until
from errands.testing.speaker import Speaker, Stage, facts
from tests.scenarios.native_calls import run
from tests.scenarios.placing import Placing

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.spec("X5")]


@pytest.mark.spec("L28", "X5")
async def test_a_task_is_paused_held_and_moved(native: Speaker) -> None:
    running = await run(native, "sleep 600")
    await until(lambda: native.engine.engine.view(running).latest.state == "running")

    paused = await native("control", id=running, action="pause")
    assert paused.text == f"Task {running} is paused."
    assert "paused_at" in facts(paused)
    assert f"{running} paused" in (await native("tasks")).text
    assert (await native("control", id=running, action="unpause")).text == f"Task {running} is running."
    assert "running already" in await native.refused("control", id=running, action="hold")
    assert "must be one of" in await native.refused("control", id=running, action="stop")

    first = await run(native, "echo 1", after=[running])
    second = await run(native, "echo 2", after=[running])
    assert (await native("control", id=second, action="hold")).text == f"Task {second} is held."
    assert (await native("control", id=second, action="release")).text == f"Task {second} is pending."
    moved = await native("control", id=second, action="first")
    assert moved.text == f"Task {second} is pending.\nIt is first in lane shell."
    order = native.engine.engine.queue.order("shell")
    assert order.index(second) < order.index(first)
    assert "shell: " in (await native("lanes")).text
    await native("cancel", id=running)


@pytest.mark.spec("L28", "A8")
async def test_an_edited_task_is_judged_anew_and_a_session_edits_only_its_own(
    native: Speaker, stage: Stage, placed: Placing | None
) -> None:
    running = await run(native, "sleep 600")
    later = await run(native, "echo old", after=[running], env={"SIZE": "1"})

    edited = await native("edit", id=later, command="echo new $SIZE", name="renamed")
    assert edited.text == f"Task {later} is pending: echo new $SIZE"
    asked = await native("edit", id=later, command="git push --force origin main")
    if placed is None:
        assert facts(asked)["state"] == "proposed"
        assert f"errands approve {later}" in asked.text
    else:  # another host judges it when its turn has come
        assert facts(asked)["state"] == "pending"
    await native.refused("edit", id=running, name="late")

    stranger = await stage.speaker("native", "another-session")
    await stranger.refused("edit", id=later, name="mine")
    await stranger.refused("control", id=running, action="pause")
    await native("cancel", id=running)


@pytest.mark.spec("L28")
async def test_a_prompt_and_a_schedule_are_edited_too(native: Speaker) -> None:
    nightly = await run(native, "echo report", cron="0 3 * * *")
    edited = await native("edit", id=nightly, every="2h")
    assert as_json(await native.engine.get(nightly))["schedule"] == "every 2h"
    assert edited.text.startswith(f"Task {nightly} is active")
    await native("edit", id=nightly, cron="0 4 * * *")
    assert "0 4 * * *" in as_json(await native.engine.get(nightly))["schedule"]

    asking = str(facts(await native("ask", prompt="say one", cron="0 3 * * *"))["id"])
    await native("edit", id=asking, prompt="say two")
    assert as_json(await native.engine.get(asking))["prompt"] == "say two"
    assert "not a command" in await native.refused("edit", id=asking, command="true")
    for each in (nightly, asking):
        await native("cancel", id=each)
