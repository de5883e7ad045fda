"""The dialect of Claude Code: the facts of a task that its list and its replies have."""

from __future__ import annotations

import pytest
import pytest_asyncio

from errands.testing.speaker import Speaker, Stage, facts, fenced

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.spec("X2")]


@pytest_asyncio.fixture(loop_scope="module")
async def claude(stage: Stage, session: str) -> Speaker:
    return await stage.speaker("claude", session)


@pytest.mark.spec("X18")
async def test_a_queued_agent_is_not_shown_as_running(stage: Stage, claude: Speaker) -> None:
    agent = {"description": "x", "prompt": "`sleep 600`", "subagent_type": "offline"}
    queue = stage.engine.engine.queue
    queue.set_lane("agent", 0)  # agents that wait for their commands would leave room for others
    try:
        reply = await claude("Task", **agent, run_in_background=True)
        assert facts(reply)["status"] == "pending"
        assert "\nStatus: Pending\n" in reply.text
        (listed,) = facts(await claude("tasks", status="pending"))["tasks"]
        assert listed["id"] == facts(reply)["task_id"]
    finally:
        queue.set_lane("agent", None)


@pytest.mark.spec("S2", "S3", "S4")
async def test_a_completed_subagent_takes_a_follow_up_with_its_conversation(claude: Speaker) -> None:
    first = {"description": "x", "prompt": "say marmalade", "subagent_type": "cat"}
    found = facts(await claude("Task", **first))["task_id"]

    reply = await claude("SendMessage", to=found, message="what was said?")

    assert (facts(reply)["task_id"], facts(reply)["success"]) == (found, True)
    assert reply.text.startswith(f"Background Task Started\nTask ID: {found}\nPrompt: what was said?\n")
    done = facts(await claude("TaskOutput", task_id=found))
    assert "marmalade" in fenced(done["output"])
    agent = (await claude.engine.get(found)).agent
    assert agent is not None
    assert agent.resume_count == 1


@pytest.mark.spec("S3")
async def test_what_cannot_take_a_follow_up_says_why(claude: Speaker) -> None:
    shell = facts(await claude("Bash", command="true"))["task_id"]
    assert "is a command" in await claude.refused("SendMessage", to=shell, message="and then?")
    assert await claude.refused("SendMessage", to="bash-222222", message="hello") == "Task not found"
    said = await claude.refused("SendMessage", to=shell)
    assert said == "Invalid arguments for SendMessage: message is missing"


async def test_the_list_has_what_an_agent_was_asked(claude: Speaker) -> None:
    await claude("Task", description="x", prompt="`echo marmalade`", subagent_type="offline")
    await claude("Bash", command="true")
    shell, agent = facts(await claude("tasks"))["tasks"]
    assert agent["metadata"] == {"subagentType": "offline", "prompt": "`echo marmalade`"}
    assert "metadata" not in shell


@pytest.mark.spec("L7")
async def test_the_exit_code_after_a_signal_is_minus_one(claude: Speaker) -> None:
    found = facts(await claude("Bash", command="kill -9 $$", run_in_background=True))["task_id"]
    await claude.engine.approve(found, by="ada")
    given = facts(await claude("TaskOutput", task_id=found))
    assert (given["status"], given["exit_code"]) == ("error", -1)


async def test_tasks_have_the_facts_of_a_background_task(claude: Speaker) -> None:
    found = facts(await claude("Bash", command="true", description="do nothing"))["task_id"]
    (given,) = facts(await claude("tasks"))["tasks"]
    assert set(given) == {
        "id", "type", "description", "status", "started_at", "completed_at", "output_file", "exit_code",
    }  # fmt: skip
    assert (given["id"], given["type"], given["description"]) == (found, "bash", "do nothing")
