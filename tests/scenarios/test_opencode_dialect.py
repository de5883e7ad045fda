"""The dialect of OpenCode's background agents: every tool, parameter, default, bound, word and error."""

from __future__ import annotations

import asyncio
import re

import pytest
import pytest_asyncio

from errands.testing.engines import WITHIN, until
from errands.testing.speaker import Speaker, Stage, fenced
from tests.scenarios.background import answered, busy, command, ended, launch, shown, task_id, within
from tests.scenarios.placing import Placing

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.spec("X1")]


@pytest_asyncio.fixture(loop_scope="module")
async def opencode(stage: Stage, session: str) -> Speaker:
    return await stage.speaker("opencode", session)


# background_task


@pytest.mark.spec("L1")
async def test_background_task_returns_an_id_at_once(opencode: Speaker) -> None:
    reply = await opencode("background_task", description="say hello", prompt="`sleep 600`", agent="offline")
    assert "Status: running" in reply.text
    task = await opencode.task()
    assert task.id == task_id(reply)
    assert task.is_live
    assert (task.description, task.command) == ("say hello", "`sleep 600`")
    assert task.agent is not None
    assert task.agent.name == "offline"
    assert task.parent == opencode.caller.session


@pytest.mark.spec("X1")
async def test_background_task_needs_only_what_its_schema_requires(
    opencode: Speaker, placed: Placing | None
) -> None:
    await opencode("background_task", prompt="`sleep 600` and more words")
    task = await opencode.task()
    default = "offline" if placed is None else "default"  # of its host, which alone knows what that is
    assert (task.description, task.agent and task.agent.name) == ("`sleep 600` and more words", default)


async def test_background_task_needs_a_prompt(opencode: Speaker) -> None:
    said = await opencode.refused("background_task", description="x", agent="offline")
    assert said == "Invalid arguments for background_task: prompt is missing"


async def test_background_task_says_who_plays_an_agent_that_is_not_there(
    opencode: Speaker, placed: Placing | None
) -> None:
    reply = await opencode("background_task", description="x", prompt="hello", agent="explore")
    assert "Unknown agent 'explore'; the configured one does it." in reply.text
    assert f"Agent: {'offline' if placed is None else 'default'}" in reply.text


@pytest.mark.spec("S8", "S17")
async def test_background_task_with_fork(opencode: Speaker) -> None:
    talk = await answered(opencode, "say marmalade", agent="cat")
    inside = within(opencode, talk)
    reply = await inside(
        "background_task", description="go on", prompt="what was said?", agent="cat", fork=True
    )
    assert f"Task ID: {task_id(reply)} (forked)" in reply.text
    done = await inside("background_output", task_id=task_id(reply), block=True)
    assert "marmalade" in fenced(done.text)
    assert f"{task_id(reply)} (forked) - completed" in (await inside("background_list")).text


@pytest.mark.spec("S17")
async def test_fork_is_not_offered_where_the_conversation_is_not_known(opencode: Speaker) -> None:
    (tool,) = [each for each in await opencode.carrier.tools() if each.name == "background_task"]
    assert "fork" not in tool.parameters["properties"]
    said = await opencode.refused(
        "background_task", description="x", prompt="hello", agent="offline", fork=True
    )
    assert said.startswith("Invalid arguments for background_task: unknown argument 'fork'")
    (known,) = [
        each for each in await within(opencode, "x").carrier.tools() if each.name == "background_task"
    ]
    assert known.parameters["properties"]["fork"]["type"] == "boolean"


async def test_fork_defaults_to_false(opencode: Speaker) -> None:
    assert "(forked)" not in (await shown(opencode, await launch(opencode, "hello"))).marks


async def test_fork_of_an_unknown_conversation(opencode: Speaker) -> None:
    said = await within(opencode, "nowhere").refused(
        "background_task", description="x", prompt="hello", agent="offline", fork=True
    )
    assert "unknown conversation 'nowhere'" in said


@pytest.mark.spec("S8")
async def test_fork_and_resume_are_mutually_exclusive(opencode: Speaker) -> None:
    found = await ended(opencode)
    said = await within(opencode, found).refused("background_task", prompt="go on", fork=True, resume=found)
    assert said.startswith("fork and resume are mutually exclusive")
    assert await opencode.count() == 1
    assert (await shown(opencode, found)).runs == 1


@pytest.mark.spec("S2")
async def test_background_task_with_resume(opencode: Speaker) -> None:
    found = await answered(opencode, "say marmalade", agent="cat")
    reply = await opencode("background_task", resume=found, prompt="what was said?")
    assert f"Task ID: {found} (resumed)" in reply.text
    assert "Status: resumed" in reply.text
    done = await opencode("background_output", task_id=found, block=True)
    assert "Status: completed" in done.text
    assert "marmalade" in fenced(done.text)
    assert await opencode.count() == 1


@pytest.mark.trap(41)
@pytest.mark.parametrize("more", [{"description": "x"}, {"agent": "offline"}])
async def test_resume_takes_a_prompt_and_nothing_else(opencode: Speaker, more: dict[str, str]) -> None:
    found = await ended(opencode)
    said = await opencode.refused("background_task", resume=found, prompt="go on", **more)
    assert said == "resume continues a task as it is; give resume and prompt, and nothing else"


@pytest.mark.spec("L13")
async def test_tasks_of_one_message_are_a_batch(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("opencode", session, message="m1")
    other = await stage.speaker("opencode", session, message="m2")
    first, second = await launch(speaker, "`sleep 600`"), await launch(speaker, "`sleep 600`")
    third = await launch(other, "`sleep 600`")
    batch = (await shown(speaker, first)).batch
    assert batch is not None
    listed = (await speaker("background_list", batch_id=batch)).text
    assert [each in listed for each in (first, second, third)] == [True, True, False]
    cancelled = (await speaker("background_cancel", batch_id=batch)).text
    assert cancelled == f"Task {second}: cancelled\nTask {first}: cancelled"
    cleared = (await speaker("background_clear", batch_id=batch)).text
    assert first in cleared
    assert [view.id for view in await stage.engine.list(parent=session)] == [third]


# background_output


@pytest.mark.spec("O5", "L7")
async def test_background_output_of_a_completed_task(opencode: Speaker) -> None:
    found = await answered(opencode, "`echo marmalade`")
    assert (await shown(opencode, found)).latest.retrieved_at is None
    said = (await opencode("background_output", task_id=found)).text
    assert "Status: completed" in said
    assert re.search(r"^Completed at: \d{4}-", said, re.MULTILINE)
    assert "marmalade" in fenced(said)
    assert (await shown(opencode, found)).latest.retrieved_at is not None


@pytest.mark.spec("O11")
async def test_background_output_of_a_running_task_shows_progress(opencode: Speaker) -> None:
    said = (await opencode("background_output", task_id=await busy(opencode))).text
    assert "Status: running" in said
    assert "Tool calls: 1" in said
    assert "Recent tools: " in said
    assert re.search(r"^Last update: \d{4}-", said, re.MULTILINE)


async def test_block_defaults_to_false(opencode: Speaker) -> None:
    found = await command(opencode, "sleep 600")
    said = await asyncio.wait_for(opencode("background_output", task_id=found), timeout=60)
    assert "Status: running" in said.text


@pytest.mark.spec("O4")
async def test_background_output_waits_with_block(opencode: Speaker) -> None:
    found = await launch(opencode, "`echo marmalade`")
    assert "marmalade" in fenced((await opencode("background_output", task_id=found, block=True)).text)


@pytest.mark.spec("O4")
@pytest.mark.trap(38)
async def test_background_output_gives_the_status_after_its_timeout(opencode: Speaker) -> None:
    found = await command(opencode, "sleep 600")
    asked = opencode("background_output", task_id=found, block=True, timeout=50)
    assert "Status: running" in (await asyncio.wait_for(asked, timeout=60)).text


@pytest.mark.spec("O4")
@pytest.mark.parametrize("tool", ["background_output", "background_resume"])
@pytest.mark.parametrize("timeout", [-1, 600_001])
async def test_timeout_is_refused_beyond_its_bounds(opencode: Speaker, tool: str, timeout: int) -> None:
    more = {"message": "x"} if tool == "background_resume" else {}
    said = await opencode.refused(tool, task_id="x", block=True, timeout=timeout, **more)
    assert said == f"Invalid arguments for {tool}: timeout must be between 0 and 600000 (got {timeout})"


@pytest.mark.parametrize("tool", ["background_output", "background_resume"])
async def test_timeout_defaults_to_a_minute_and_block_to_false(opencode: Speaker, tool: str) -> None:
    (found,) = [each for each in await opencode.carrier.tools() if each.name == tool]
    properties = found.parameters["properties"]
    assert properties["timeout"]["default"] == 60_000
    assert properties["timeout"]["maximum"] == 600_000
    assert properties["block"]["default"] is False


@pytest.mark.spec("L8")
async def test_background_output_of_an_error_keeps_the_details(stage: Stage, session: str) -> None:
    lost = await stage.speaker("opencode", session, cwd="/nowhere/at/all")
    found = await answered(lost, "hello")
    said = (await lost("background_output", task_id=found)).text
    assert "Status: error" in said
    assert "/nowhere/at/all" in said


@pytest.mark.spec("S7")
async def test_who_blocks_is_not_notified_and_who_does_not_is(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("opencode", session, wake="session")
    found = await launch(speaker, "`sleep 0.2`")
    await speaker("background_output", task_id=found, block=True)
    # A notice that is held back for a while would be there.
    await until(lambda: stage.engine.engine.store.inbox(session) == [])
    found = await answered(speaker, "hello")
    (notice,) = await stage.engine.take_notices(session)
    assert notice.run_id == f"{found}.1"


@pytest.mark.spec("N6", "L21")
async def test_what_the_session_s_own_shell_started_is_one_of_its_tasks(stage: Stage, session: str) -> None:
    """Its end is reported to the session, so the tools must know it."""
    speaker = await stage.speaker("opencode", session, wake="session")
    found = (await stage.engine.submit("echo marmalade", owner=session)).id
    await stage.engine.wait(found, timeout=WITHIN)
    assert "marmalade" in (await speaker("background_output", task_id=found)).text
    assert found in (await speaker("background_list")).text


async def test_task_not_found(opencode: Speaker) -> None:
    for tool, more in (
        ("background_output", {}),
        ("background_cancel", {}),
        ("background_clear", {}),
        ("background_resume", {"message": "x"}),
    ):
        said = await opencode.refused(tool, task_id="nobody-222222", **more)
        assert said == "Task not found: nobody-222222"
    said = await opencode.refused("background_task", resume="nobody-222222", prompt="x")
    assert said == "Task not found: nobody-222222"


@pytest.mark.spec("L4")
async def test_the_beginning_of_an_id_is_enough(opencode: Speaker) -> None:
    found = await answered(opencode, "hello", description="unmistakable")
    assert found in (await opencode("background_output", task_id="unmist")).text


# background_list


async def test_empty_list_for_no_children(opencode: Speaker) -> None:
    assert (await opencode("background_list")).text == "No background tasks found"


@pytest.mark.trap(71)
async def test_filter_by_parent_session(stage: Stage, opencode: Speaker) -> None:
    mine = await ended(opencode)
    other = await stage.speaker("opencode", f"{opencode.caller.session}-other")
    theirs = await ended(other)
    listed = (await opencode("background_list")).text
    assert mine in listed
    assert theirs not in listed


async def test_show_resumed_indicator(opencode: Speaker) -> None:
    found = await answered(opencode, "`true`")
    await opencode("background_resume", task_id=found, message="`sleep 600`")
    assert f"{found} (resumed) - resumed - a task" in (await opencode("background_list")).text


async def test_no_indicator_for_new_tasks(opencode: Speaker) -> None:
    found = await ended(opencode)
    assert (await opencode("background_list")).text == f"{found} - completed - a task"


async def test_a_list_is_bounded(stage: Stage, opencode: Speaker) -> None:
    await asyncio.gather(
        *(stage.engine.submit("true", parent=opencode.caller.session, notify="never") for _ in range(52))
    )
    lines = (await opencode("background_list")).text.splitlines()
    assert len(lines) == 51
    assert lines[-1] == "[2 older ones are left out]"


# background_cancel


@pytest.mark.spec("L9")
async def test_cancel_running_tasks(opencode: Speaker) -> None:
    found = await command(opencode, "sleep 600")
    assert (await opencode("background_cancel", task_id=found)).text == f"Task {found}: cancelled"
    assert (await shown(opencode, found)).state == "cancelled"


async def test_cancel_what_is_over(opencode: Speaker) -> None:
    found = await ended(opencode)
    said = await opencode.refused("background_cancel", task_id=found)
    assert said == f"Task {found} is not running (status: completed)."


@pytest.mark.parametrize("given", [{}, {"task_id": "x", "batch_id": "y"}])
async def test_cancel_takes_a_task_or_a_batch(opencode: Speaker, given: dict[str, str]) -> None:
    said = await opencode.refused("background_cancel", **given)
    assert said == "Invalid arguments for background_cancel: give task_id or batch_id"


async def test_cancel_an_empty_batch(opencode: Speaker) -> None:
    assert await opencode.refused("background_cancel", batch_id="none") == "No background tasks found"


# background_clear


@pytest.mark.spec("O14")
async def test_clear_one_task(opencode: Speaker) -> None:
    found, other = await ended(opencode), await ended(opencode)
    assert (await opencode("background_clear", task_id=found)).text == f"Cleared: {found}"
    assert [view.id for view in await opencode.engine.list(parent=opencode.caller.session)] == [other]


@pytest.mark.spec("O14")
async def test_clear_all_of_a_session_and_keep_what_runs(opencode: Speaker) -> None:
    found, running = await ended(opencode), await command(opencode, "sleep 600")
    said = (await opencode("background_clear")).text
    assert said == f"Cleared: {found}\nStill running, so not cleared: {running}"


@pytest.mark.spec("O14")
async def test_clear_refuses_what_runs(opencode: Speaker) -> None:
    running = await command(opencode, "sleep 600")
    assert running in await opencode.refused("background_clear", task_id=running)
    assert await opencode.count() == 1


@pytest.mark.spec("O14")
async def test_who_sees_everything_clears_its_own(stage: Stage, session: str, opencode: Speaker) -> None:
    theirs = await ended(opencode)
    everyone = await stage.speaker("opencode", f"{session}-everyone", everything=True)
    mine = await ended(everyone)
    assert theirs in (await everyone("background_list")).text
    assert (await everyone("background_clear")).text == f"Cleared: {mine}"


async def test_clear_nothing(opencode: Speaker) -> None:
    assert (await opencode("background_clear")).text == "No background tasks found"


async def test_clear_takes_a_task_or_a_batch(opencode: Speaker) -> None:
    said = await opencode.refused("background_clear", task_id="x", batch_id="y")
    assert said == "Invalid arguments for background_clear: give task_id or batch_id"
