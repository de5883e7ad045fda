"""The toolset: every dialect for a real pydantic-ai agent, with pydantic-ai's own approval."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ConversationTypeAdapter
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, repair_messages
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import DeferredToolRequests, ToolApproved, ToolDenied

from errands import dialects
from errands.frontends.toolset import BackgroundToolset
from errands.model.agent.fork import LONGEST_RESULT
from errands.model.errors import BadValue
from errands.ports.dialect import Caller
from errands.testing.engines import WITHIN, TestEngine, embedded
from tests.frontends.toolset.stage import DONE, Script
from tests.model_server import ModelServer


@pytest.mark.spec("X5")
@pytest.mark.parametrize("dialect", dialects.names())
async def test_every_dialect_is_offered_as_it_is(engine: TestEngine, dialect: str) -> None:
    script = Script()

    await script.agent(toolsets=[BackgroundToolset(engine, dialect=dialect)]).run("hello")

    caller = Caller(session="any", cwd="/", door="toolset")
    assert script.offered == {each.name: each.description for each in dialects.named(dialect).tools(caller)}


LAUNCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "native": ("run", {"command": "rm {}"}),
    "claude": ("Bash", {"command": "rm {}"}),
    "co": ("start_background_task", {"command": "rm {}", "description": "tidy up"}),
}


@pytest.mark.spec("X5", "A8")
@pytest.mark.parametrize("dialect", LAUNCHES)
async def test_in_every_dialect_a_launch_is_deferred_and_continues_after_approval(
    engine: TestEngine, victim: Path, dialect: str
) -> None:
    name, arguments = LAUNCHES[dialect]
    script = Script((name, {**arguments, "command": arguments["command"].format(victim)}))
    agent = script.agent(toolsets=[BackgroundToolset(engine, dialect=dialect)])

    held = await agent.run("go")
    assert isinstance(held.output, DeferredToolRequests)
    answers = held.output.build_results(approve_all=True, metadata=held.output.metadata)
    await agent.run(conversation=held.conversation, deferred_tool_results=answers)

    (task,) = await engine.list()
    assert (await engine.wait(task.id)).state == "completed"
    assert script.results[0].outcome == "success"
    assert task.id in str(script.results[0].content)
    assert not victim.exists()


@pytest.mark.spec("X5", "A8")
@pytest.mark.parametrize(
    ("dialect", "name", "arguments"),
    [
        ("opencode", "background_task", {"description": "look", "prompt": "run `true`", "agent": "offline"}),
        ("claude", "Task", {"description": "look", "prompt": "run `true`", "subagent_type": "offline"}),
        (
            "egirl",
            "task_add",
            {"name": "look", "description": "x", "prompt": "run `true`", "kind": "oneshot"},
        ),
    ],
)
async def test_agents_are_launched_in_their_dialects_and_can_be_deferred(
    engine: TestEngine, dialect: str, name: str, arguments: dict[str, Any]
) -> None:
    script = Script((name, arguments))
    free = script.agent(toolsets=[BackgroundToolset(engine, dialect=dialect)])
    bound = script.agent(toolsets=[BackgroundToolset(engine, dialect=dialect, requires_approval=True)])

    assert isinstance((await bound.run("go")).output, DeferredToolRequests)
    assert await engine.list() == []
    assert (await free.run("go")).output == DONE
    assert [view.kind for view in await engine.list() if view.parent is not None][-1] == "agent"


@pytest.mark.spec("X3", "X5")
async def test_the_tools_of_co_return_a_dict_with_a_display(engine: TestEngine) -> None:
    script = Script(("start_background_task", {"command": "true", "description": "nothing"}))

    await script.agent(toolsets=[BackgroundToolset(engine, dialect="co")]).run("go")

    content = script.results[0].content
    assert content["display"].startswith(f"Started background task {content['task_id']}: nothing")
    assert content["status"] in ("pending", "running")


def test_without_pydantic_ai_it_says_what_to_install() -> None:
    program = "import sys; sys.modules['pydantic_ai'] = None; import errands.frontends.toolset"

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (
        "this needs pydantic-ai: pip install '.[agents]' in a clone of Errands" in run.stderr.splitlines()[-1]
    )


def test_a_dialect_that_does_not_exist_is_refused(engine: TestEngine) -> None:
    with pytest.raises(BadValue, match="unknown dialect 'nativ' \\(did you mean native\\?\\)"):
        BackgroundToolset(engine, dialect="nativ")


@pytest.mark.spec("X5", "N8", "L21")
async def test_a_task_of_an_agent_is_visible_everywhere(engine: TestEngine, tmp_path: Path) -> None:
    script = Script(("run", {"command": "pwd", "name": "where"}))
    agent = script.agent(toolsets=[BackgroundToolset(engine, cwd=str(tmp_path))])

    result = await agent.run("go")

    (task,) = await engine.list()
    assert result.output == DONE
    assert script.results[0].content["id"] == task.id
    assert script.results[0].content["wake"].startswith("Nothing will tell you")
    assert (task.cwd, task.created_by, task.door) == (str(tmp_path), "agent tested", "toolset")
    assert task.parent == f"conversation:{result.conversation_id}"


@pytest.mark.spec("X5")
async def test_an_agent_sees_only_the_tasks_of_its_own_conversation(engine: TestEngine) -> None:
    other = await engine.submit("true", parent="another")
    script = Script(("run", {"command": "true"}), ("tasks", {}), ("show", {"id": other.id}))

    await script.agent(toolsets=[BackgroundToolset(engine)]).run("go")

    launched, listed, shown = script.results
    assert [each["id"] for each in listed.content["tasks"]] == [launched.content["id"]]
    assert (shown.outcome, shown.content) == ("failed", f"Task not found: {other.id}")


async def test_wrong_arguments_are_a_failure_that_says_what_is_wrong(engine: TestEngine) -> None:
    script = Script(("run", {"comand": "true"}))

    await script.agent(toolsets=[BackgroundToolset(engine)]).run("go")

    assert script.results[0].outcome == "failed"
    assert "did you mean command?" in str(script.results[0].content)
    assert await engine.list() == []


@pytest.mark.spec("A8", "A4", "A5")
async def test_a_call_that_needs_approval_is_deferred_until_it_is_answered(
    engine: TestEngine, victim: Path
) -> None:
    script = Script(("run", {"command": f"rm {victim}", "wait": 10_000}))
    agent = script.agent(toolsets=[BackgroundToolset(engine, approver="ada")])

    held = await agent.run("go")

    assert isinstance(held.output, DeferredToolRequests)
    (call,) = held.output.approvals
    shown = held.output.metadata[call.tool_call_id]
    (task,) = await engine.list()
    assert (task.state, task.id, task.command) == ("proposed", shown["task"], shown["command"])
    assert shown["reasons"]
    assert victim.exists()

    # The answer may come another day, in another process.
    conversation = ConversationTypeAdapter.validate_json(ConversationTypeAdapter.dump_json(held.conversation))
    again = script.agent(toolsets=[BackgroundToolset(engine, approver="ada")])
    answers = held.output.build_results(approve_all=True)
    result = await again.run(conversation=conversation, deferred_tool_results=answers)

    (task,) = await engine.list()
    assert (result.output, task.state, task.approved_by) == (DONE, "completed", "ada")
    assert script.results[0].content["state"] == "completed"
    assert not victim.exists()


@pytest.mark.spec("A5", "A8")
async def test_a_denial_rejects_the_proposal(engine: TestEngine, victim: Path) -> None:
    script = Script(("run", {"command": f"rm {victim}"}))
    agent = script.agent(toolsets=[BackgroundToolset(engine, approver="ada")])
    held = await agent.run("go")
    assert isinstance(held.output, DeferredToolRequests)

    answers = held.output.build_results(approvals={"c0": ToolDenied("never")})
    await agent.run(conversation=held.conversation, deferred_tool_results=answers)

    asked = engine.engine.audit()[0].approval
    assert (asked.state, asked.by, asked.note) == ("refused", "ada", "never")
    assert (await engine.get(asked.task_id)).state == "rejected"
    assert victim.exists()


@pytest.mark.spec("A5")
async def test_an_unanswered_proposal_is_cancelled(engine: TestEngine, victim: Path) -> None:
    script = Script(("run", {"command": f"rm {victim}"}))
    agent = script.agent(toolsets=[BackgroundToolset(engine)])
    held = await agent.run("go")

    await agent.run("never mind", message_history=repair_messages(held.all_messages()))

    asked = engine.engine.audit()[0].approval
    assert (await engine.get(asked.task_id)).state == "cancelled"
    assert victim.exists()


@pytest.mark.spec("A10")
async def test_approving_other_arguments_does_not_approve_the_original_ones(
    engine: TestEngine, victim: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.touch()
    script = Script(("run", {"command": f"rm {victim}"}))
    agent = script.agent(toolsets=[BackgroundToolset(engine, approver="ada")])
    held = await agent.run("go")
    assert isinstance(held.output, DeferredToolRequests)

    changed = ToolApproved(override_args={"command": f"rm {other}", "wait": 10_000})
    answers = held.output.build_results(approvals={"c0": changed})
    await agent.run(conversation=held.conversation, deferred_tool_results=answers)

    states = {view.command: (view.state, view.approved_by) for view in await engine.list()}
    assert states == {f"rm {victim}": ("cancelled", None), f"rm {other}": ("completed", "ada")}
    assert (victim.exists(), other.exists()) == (True, False)


@pytest.mark.spec("A10")
async def test_a_script_that_changed_since_the_question_is_asked_about_again(
    engine: TestEngine, tmp_path: Path
) -> None:
    script_file = tmp_path / "tidy.sh"
    script_file.write_text("echo tidy\n")
    script = Script(("run", {"command": f"sh {script_file}"}))
    agent = script.agent(toolsets=[BackgroundToolset(engine)])
    held = await agent.run("go")
    assert isinstance(held.output, DeferredToolRequests)
    script_file.write_text("echo something else\n")

    answers = held.output.build_results(approve_all=True)
    again = await agent.run(conversation=held.conversation, deferred_tool_results=answers)

    assert isinstance(again.output, DeferredToolRequests)
    first, second = held.output.metadata["c0"], again.output.metadata["c0"]
    assert (first["task"], first["approval"] != second["approval"]) == (second["task"], True)
    assert any("tidy.sh" in each for each in second["reasons"])


@pytest.mark.spec("A8")
async def test_every_launch_can_be_made_to_require_approval(engine: TestEngine) -> None:
    script = Script(("tasks", {}), ("run", {"command": "true", "wait": 10_000}))
    agent = script.agent(toolsets=[BackgroundToolset(engine, requires_approval=True)])

    held = await agent.run("go")

    assert isinstance(held.output, DeferredToolRequests)
    assert [each.tool_name for each in held.output.approvals] == ["run"]
    assert await engine.list() == []

    answers = held.output.build_results(approve_all=True)
    await agent.run(conversation=held.conversation, deferred_tool_results=answers)
    assert [view.state for view in await engine.list()] == ["completed"]


@pytest.mark.spec("A8", "A11")
async def test_without_deferred_calls_the_reply_says_how_to_approve(engine: TestEngine, victim: Path) -> None:
    script = Script(("run", {"command": f"rm {victim}"}))

    result = await script.agent(toolsets=[BackgroundToolset(engine, defers=False)]).run("go")

    (task,) = await engine.list()
    assert (result.output, task.state) == (DONE, "proposed")
    assert f"errands approve {task.id}" in str(script.results[0].content)


@pytest.mark.spec("A8")
async def test_reading_about_a_proposal_asks_for_nothing(engine: TestEngine, victim: Path) -> None:
    task = await engine.submit(["rm", str(victim)], parent="mine")
    script = Script(("show", {"id": task.id}), ("tasks", {"state": "proposed"}))

    result = await script.agent(toolsets=[BackgroundToolset(engine, session="mine")]).run("go")

    assert result.output == DONE


@pytest.mark.spec("A8")
async def test_an_agent_inside_a_run_cannot_pass_on_an_approval(
    engine: TestEngine, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("errands.engine.approval.approve._enclosing", ["agent-222222.1"])
    script = Script(("run", {"command": f"rm {victim}"}))
    agent = script.agent(toolsets=[BackgroundToolset(engine, approver="ada")])
    held = await agent.run("go")
    assert isinstance(held.output, DeferredToolRequests)

    answers = held.output.build_results(approve_all=True)
    await agent.run(conversation=held.conversation, deferred_tool_results=answers)

    assert "a process cannot consent" in str(script.results[0].content)
    assert victim.exists()


@pytest.mark.spec("A8")
async def test_an_agent_that_cannot_defer_a_call_fails_instead_of_running_it(
    engine: TestEngine, victim: Path
) -> None:
    script = Script(("run", {"command": f"rm {victim}"}))

    with pytest.raises(UserError, match="DeferredToolRequests"):
        await Agent(script.model, toolsets=[BackgroundToolset(engine)]).run("go")

    assert victim.exists()


LONG = "x" * 4000


@pytest.fixture
async def modelled(own_home: Path, model: ModelServer, config_file: Path) -> AsyncIterator[TestEngine]:
    """An engine with an agent that has a model; it is not the default one."""
    config_file.write_text(
        f'[agents.small]\nbackend = "builtin"\nmodel = "fake"\nurl = "{model.openai_url}"\n'
    )
    async with embedded(str(own_home), yes=False) as engine:
        yield engine


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.mark.spec("S8", "S9", "S11", "S17")
async def test_a_fork_begins_with_the_conversation_of_the_agent_that_calls(
    modelled: TestEngine, model: ModelServer
) -> None:
    script = Script(("look", {}), ("ask", {"prompt": "RECALL", "fork": True}))
    agent = script.agent(toolsets=[BackgroundToolset(modelled)], instructions="Be kind.")

    @agent.tool_plain
    def look() -> str:
        return LONG

    first = await agent.run("my cat is called marmalade")
    (task,) = await modelled.list()
    done = await modelled.wait(task.id, timeout=WITHIN)

    assert done.agent is not None
    assert (done.state, done.agent.name, done.marks) == ("completed", "small", "(forked)")
    assert "my cat is called marmalade" in (done.agent.answer or "")
    asked = model.asked_for("RECALL")[-1].body["messages"]
    (call,) = [each for each in asked if each.get("tool_calls")]
    (result,) = [each for each in asked if each["role"] == "tool"]
    assert call["tool_calls"][0]["function"]["name"] == "look"
    assert result["tool_call_id"] == call["tool_calls"][0]["id"]
    assert result["content"].startswith("x" * LONGEST_RESULT + "\n[truncated: the first 1,500 of 4,000")
    assert "context may be truncated" in json.dumps([each for each in asked if each["role"] == "system"])
    assert script.results[0].content == LONG  # the conversation itself stays as it is
    assert first.output == DONE


@pytest.mark.spec("S8", "S17")
async def test_a_fork_is_offered_only_if_an_agent_can_take_it(
    engine: TestEngine, modelled: TestEngine
) -> None:
    for here, is_offered in ((engine, False), (modelled, True)):
        offered: dict[str, Any] = {}

        def answer(
            _messages: list[ModelMessage], info: AgentInfo, seen: dict[str, Any] = offered
        ) -> ModelResponse:
            seen.update({each.name: each.parameters_json_schema for each in info.function_tools})
            return ModelResponse(parts=[TextPart(DONE)])

        await Agent(FunctionModel(answer), toolsets=[BackgroundToolset(here)]).run("hello")
        assert ("fork" in offered["ask"]["properties"]) is is_offered


@pytest.mark.spec("S8")
async def test_an_agent_that_cannot_take_a_conversation_is_refused(modelled: TestEngine) -> None:
    script = Script(("ask", {"prompt": "RECALL", "fork": True, "agent": "offline"}))
    await script.agent(toolsets=[BackgroundToolset(modelled)]).run("hello")
    assert "cannot fork this conversation" in str(script.results[0].content)
    assert "these can: small" in str(script.results[0].content)
    assert await modelled.list() == []
