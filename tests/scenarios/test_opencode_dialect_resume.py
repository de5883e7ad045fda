"""Resuming in the dialect of OpenCode's background agents: `background_resume` and its exact errors."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from errands.testing.engines import WITHIN
from errands.testing.speaker import Speaker, Stage, fenced
from tests.engine.agent_project import Codex
from tests.scenarios.background import answered, busy, launch
from tests.scenarios.placing import GONE_THERE, Placing

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.spec("X1")]


@pytest_asyncio.fixture(loop_scope="module")
async def opencode(stage: Stage, session: str) -> Speaker:
    return await stage.speaker("opencode", session)


@pytest.mark.spec("S3", "S7")
async def test_resume_with_block_gives_the_response_alone(opencode: Speaker) -> None:
    found = await answered(opencode, "`echo one`")
    said = (await opencode("background_resume", task_id=found, message="`echo two`", block=True)).text
    assert "$ echo two" in fenced(said)
    assert "echo one" not in said
    assert said.startswith("[answer of ")


@pytest.mark.spec("S3")
async def test_resume_without_block_returns_at_once(opencode: Speaker) -> None:
    found = await answered(opencode, "`true`")
    reply = await opencode("background_resume", task_id=found, message="`sleep 600`")
    assert "Status: resumed" in reply.text
    assert "Nothing will tell you when it ends; ask with background_output" in reply.text


@pytest.mark.spec("N8")
@pytest.mark.trap(7)
async def test_resuming_a_task_of_another_owner_promises_no_notification(
    stage: Stage, opencode: Speaker, session: str
) -> None:
    found = await answered(opencode, "`true`")
    woken = await stage.speaker("opencode", session, wake="session")
    reply = await woken("background_resume", task_id=found, message="`true`")
    assert "Nothing will tell you when it ends; ask with background_output" in reply.text
    await stage.engine.wait(found, timeout=WITHIN)
    assert await stage.engine.take_notices(session) == []


@pytest.mark.spec("S3")
async def test_resume_with_block_gives_up_after_its_timeout(opencode: Speaker) -> None:
    found = await answered(opencode, "`true`")
    reply = await opencode("background_resume", task_id=found, message="`sleep 600`", block=True, timeout=50)
    assert reply.text.startswith("The response is not there yet.")
    assert "Status: resumed" in reply.text


@pytest.mark.spec("S4")
async def test_resume_count(opencode: Speaker) -> None:
    found = await answered(opencode, "`true`")
    assert "Resume count" not in (await opencode("background_output", task_id=found)).text
    for count in (1, 2):
        await opencode("background_resume", task_id=found, message="`true`", block=True)
        said = (await opencode("background_output", task_id=found)).text
        assert f"Resume count: {count}" in said


@pytest.mark.spec("S5")
async def test_resume_of_a_running_task(opencode: Speaker) -> None:
    found = await launch(opencode, "`sleep 600`")
    said = await opencode.refused("background_resume", task_id=found, message="go on")
    assert said == "Cannot resume task: status is 'running'. Only completed tasks can be resumed."


@pytest.mark.spec("S5")
async def test_resume_of_a_cancelled_task(opencode: Speaker) -> None:
    found = await busy(opencode)
    await opencode("background_cancel", task_id=found)
    said = await opencode.refused("background_task", resume=found, prompt="go on")
    assert said == "Cannot resume task: status is 'cancelled'. Only completed tasks can be resumed."


@pytest.mark.spec("S5")
async def test_resume_of_a_task_with_an_error(stage: Stage, session: str) -> None:
    lost = await stage.speaker("opencode", session, cwd="/nowhere/at/all")
    found = await answered(lost, "hello")
    said = await lost.refused("background_resume", task_id=found, message="go on")
    assert said == "Cannot resume task: status is 'error'. Only completed tasks can be resumed."


@pytest.mark.spec("S5", "S6")
async def test_resume_of_a_task_that_is_being_resumed(opencode: Speaker) -> None:
    found = await answered(opencode, "`true`")
    both = await asyncio.gather(
        *(
            opencode.carrier.call("background_resume", {"task_id": found, "message": "`sleep 600`"})
            for _ in "12"
        )
    )
    assert sorted(reply.failed for reply in both) == [False, True]
    (refused,) = [reply.text for reply in both if reply.failed]
    assert refused == "Task is currently being resumed. Wait for completion before sending another message."


@pytest.mark.spec("S5")
async def test_resume_of_a_session_that_is_gone(
    opencode: Speaker, codex: Codex, placed: Placing | None
) -> None:
    found = await answered(opencode, "hello", agent="codex")
    codex.forget()
    if placed is not None:  # only the host can tell
        await opencode("background_resume", task_id=found, message="go on", block=True)
        assert (await opencode.engine.get(found)).latest.error == GONE_THERE
        return
    said = await opencode.refused("background_resume", task_id=found, message="go on")
    assert said == "Session expired or was deleted. Start a new background_task to continue."


@pytest.mark.parametrize("missing", ["task_id", "message"])
async def test_resume_needs_a_task_and_a_message(opencode: Speaker, missing: str) -> None:
    given = {"task_id": "x", "message": "y"}
    del given[missing]
    said = await opencode.refused("background_resume", **given)
    assert said == f"Invalid arguments for background_resume: {missing} is missing"


@pytest.mark.spec("S3")
async def test_a_resume_that_comes_to_nothing_keeps_the_earlier_result_readable(opencode: Speaker) -> None:
    found = await answered(opencode, "`echo marmalade`")
    await opencode.carrier.call("background_resume", {"task_id": found, "message": "hello", "block": True})
    shown = (await opencode("background_output", task_id=found)).text
    assert "Status: error" in shown
    assert "no model is set up" in shown
    assert "\nmarmalade\n" in shown.partition(f"[answer of {found}, ")[2]
