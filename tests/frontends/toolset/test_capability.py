"""The capability: the end of a task is reported once to the agent that started it, in a live run."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import DeferredToolRequests, ToolDenied

from errands.frontends.toolset import BackgroundTasks
from errands.model.errors import BadValue
from errands.testing.engines import TestEngine
from tests.frontends.toolset.stage import DONE, Script
from tests.gate import Gate


@pytest.mark.spec("N6", "N8", "X20")
async def test_the_end_of_a_task_reaches_the_live_run(engine: TestEngine) -> None:
    other = await engine.submit("true", parent="another", owner="another")
    script = Script(("run", {"command": "echo 12 passed"}), ("wait_for_it", {}))
    agent = script.agent(capabilities=[BackgroundTasks(engine)])

    @agent.tool_plain
    async def wait_for_it() -> str:
        (task,) = [view for view in await engine.list() if view.id != other.id]
        return (await engine.wait(task.id)).state

    await agent.run("go")

    _, notice = script.heard
    task = script.results[0].content
    assert task["wake"] == "You will be told when it ends; do not poll."
    assert f"{task['id']} completed" in notice
    assert "12 passed" in notice
    assert "approves nothing" in notice


@pytest.mark.spec("N6")
async def test_a_run_about_to_end_gets_one_more_turn_for_a_task_that_ended(
    engine: TestEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gate = Gate(tmp_path / "gate")
    script = Script(("run", {"command": "cat gate"}))
    turns: list[int] = []

    async def slowly(messages: object, info: object) -> object:
        answer = script._answer(messages, info)  # type: ignore[arg-type]
        if script.results:
            if not turns:  # it ends while the model writes its last answer
                await asyncio.to_thread(gate.opens, "news\n")
            await engine.wait(script.results[0].content["id"])
            turns.append(len(script.heard))
        return answer

    agent = script.agent(capabilities=[BackgroundTasks(engine)])
    result = await agent.run("go", model=FunctionModel(slowly))  # type: ignore[arg-type]

    assert turns == [1, 2]
    assert result.output == DONE


@pytest.mark.spec("N6")
async def test_a_run_can_linger_for_a_task_it_started(engine: TestEngine) -> None:
    script = Script(("run", {"command": "sleep 0.2; echo at last"}))

    await script.agent(capabilities=[BackgroundTasks(engine, linger=20)]).run("go")

    assert "at last" in script.heard[1]


async def test_a_run_lingers_no_longer_than_configured(engine: TestEngine) -> None:
    script = Script(("run", {"command": "sleep 600"}))

    async with asyncio.timeout(60):
        await script.agent(capabilities=[BackgroundTasks(engine, linger=0.1)]).run("go")

    assert script.heard == ["go"]
    with pytest.raises(BadValue, match="must not be negative"):
        BackgroundTasks(engine, linger=-1)


@pytest.mark.spec("N6")
@pytest.mark.trap(1)
@pytest.mark.trap(3)
async def test_a_task_that_ended_between_two_runs_is_reported_once_in_the_next(
    engine: TestEngine, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    script = Script(("run", {"command": "cat pipe"}))
    agent = script.agent(capabilities=[BackgroundTasks(engine, cwd=str(tmp_path))])
    first = await agent.run("go", conversation_id="one")
    await asyncio.to_thread((tmp_path / "pipe").write_text, "later")
    (task,) = await engine.list()
    await engine.wait(task.id)

    heard = len(script.heard)
    second = await agent.run("and now?", message_history=first.all_messages())
    assert [each for each in script.heard[heard:] if "later" in each] != []

    heard = len(script.heard)
    await agent.run("and now?", message_history=second.all_messages())
    assert script.heard[heard:] == ["and now?"]


@pytest.mark.trap(12)
async def test_a_notice_that_the_model_never_received_is_reported_again(engine: TestEngine) -> None:
    owner = "conversation:one"
    await engine.finished("echo unheard", parent=owner, owner=owner)

    def breaks(messages: object, info: object) -> object:
        raise RuntimeError("the model is away")

    script = Script()
    agent = script.agent(capabilities=[BackgroundTasks(engine)])
    with pytest.raises(RuntimeError):
        await agent.run("go", model=FunctionModel(breaks), conversation_id="one")  # type: ignore[arg-type]

    await agent.run("go", conversation_id="one")
    assert "unheard" in script.heard[-1]
    assert await engine.take_notices(owner) == []


@pytest.mark.trap(5)
async def test_a_notice_reaches_only_its_own_conversation(engine: TestEngine) -> None:
    await engine.finished("echo theirs", parent="conversation:two", owner="conversation:two")
    script = Script()

    await script.agent(capabilities=[BackgroundTasks(engine)]).run("go", conversation_id="one")

    assert script.heard == ["go"]
    assert len(await engine.take_notices("conversation:two")) == 1


@pytest.mark.spec("N6")
async def test_an_agent_that_waited_for_the_end_is_not_notified_again(engine: TestEngine) -> None:
    script = Script(("run", {"command": "echo once", "wait": 10_000}))

    await script.agent(capabilities=[BackgroundTasks(engine, linger=5)]).run("go")

    assert "once" in str(script.results[0].content)
    assert script.heard == ["go"]


@pytest.mark.spec("A5", "N6")
async def test_a_rejection_is_not_reported_twice(engine: TestEngine, victim: Path) -> None:
    script = Script(("run", {"command": f"rm {victim}"}))
    agent = script.agent(capabilities=[BackgroundTasks(engine)])
    held = await agent.run("go")
    assert isinstance(held.output, DeferredToolRequests)

    answers = held.output.build_results(approvals={"c0": ToolDenied("never")})
    await agent.run(conversation=held.conversation, deferred_tool_results=answers)

    assert script.results[0].content == "never"
    assert script.heard == ["go"]
