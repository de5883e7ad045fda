"""What becomes of a prompt when an agent that speaks the Agent Client Protocol fails, or must be stopped."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from errands.agents.acp import Acp
from errands.agents.acp import backend as backend_module
from errands.agents.acp.terminals import close_pipes
from errands.model.errors import AgentError, AgentUnavailable, BadValue, BudgetExceeded, SessionGone
from errands.model.record import evolve
from errands.ports.agent import Decision, ToolCall
from errands.testing.agent_context import SPEC, RecordingContext
from tests.agents.acp_stage import ALL, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def test_an_agent_needs_a_command() -> None:
    with pytest.raises(AgentError, match="needs a command"):
        Acp({})


async def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(BadValue, match="did you mean command"):
        Acp({"comand": "opencode acp"})


async def test_a_command_that_is_not_there_is_named(stage: Stage) -> None:
    agent = Acp({"command": "no-such-agent --acp"})
    with pytest.raises(AgentError, match="no-such-agent cannot be started"):
        await agent.open(stage.context())


async def test_a_program_that_is_not_an_agent_is_recognised_by_its_output(stage: Stage) -> None:
    agent = Acp({"command": ["sh", "-c", "echo 'wrong program' >&2; exit 4"]})
    with pytest.raises(AgentUnavailable, match=r"ended with 4\. wrong program"):
        await agent.open(stage.context())


async def test_an_agent_of_another_protocol_is_refused(stage: Stage) -> None:
    with pytest.raises(AgentError, match="speaks version 99 of the protocol"):
        await stage.says("hello", "future")


@pytest.mark.fault("F47")
async def test_an_agent_that_dies_fails_with_its_last_words_and_what_it_had_said(stage: Stage) -> None:
    with pytest.raises(AgentUnavailable, match=r"ended with 7\. out of memory") as caught:
        await stage.says("half an answer\nDIE out of memory")
    assert "half an answer" in caught.value.partial


@pytest.mark.fault("F47")
async def test_after_an_agent_died_the_session_goes_on_in_another_one(stage: Stage) -> None:
    context = stage.context()
    async with stage.agent() as agent:
        session = await agent.open(context)
        with pytest.raises(AgentUnavailable):
            await agent.prompt(session, "marmalade\nDIE now", context)
        assert (
            "marmalade" in (await agent.prompt(session, "RECALL", stage.context(run="tested-222222.2"))).text
        )


@pytest.mark.fault("F47")
async def test_an_error_of_the_agent_is_never_an_answer(stage: Stage) -> None:
    with pytest.raises(AgentError, match=r"Internal error \(the model is down\)"):
        await stage.says("FAIL the model is down")


@pytest.mark.fault("F47")
async def test_an_agent_that_falls_silent_is_given_up(stage: Stage) -> None:
    with pytest.raises(AgentUnavailable, match=r"silent for 2 s") as caught:
        await stage.says("so far\nSILENT", patience=2)
    assert "so far" in caught.value.partial


async def test_waiting_for_a_person_is_not_silence(stage: Stage) -> None:
    class Slow(RecordingContext):
        async def request_approval(self, call: ToolCall) -> Decision:
            await asyncio.sleep(2.5)
            return await super().request_approval(call)

    context = Slow(stage.folder / "context", spec=evolve(SPEC, cwd=str(stage.project)))
    assert "it printed yes" in await stage.says("RUN sleep 2.5; echo yes", context=context, patience=2)


@pytest.mark.fault("F47")
async def test_an_empty_answer_is_an_error(stage: Stage) -> None:
    with pytest.raises(AgentUnavailable, match="answered with nothing"):
        await stage.says("USE 1 1")


@pytest.mark.parametrize(
    ("reason", "error", "words"),
    [
        ("refusal", AgentError, "did not finish: refusal"),
        ("max_tokens", BudgetExceeded, "tokens of one answer"),
        ("max_turn_requests", BudgetExceeded, "own limit of requests"),
    ],
)
async def test_an_unfinished_turn_is_not_an_answer(
    stage: Stage, reason: str, error: type[AgentError], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        await stage.says(f"STOP {reason}")
    assert caught.value.partial.endswith("so far")


@pytest.mark.spec("S15")
async def test_a_budget_of_tool_calls_stops_the_turn(stage: Stage) -> None:
    context = stage.context(budget={"tool_calls": 2})
    with pytest.raises(BudgetExceeded, match="budget of 2 tool calls is used up"):
        await stage.says("RUN echo 1 >>witness\n" * 5, context=context)
    assert (stage.project / "witness").read_text() == "1\n1\n"


@pytest.mark.spec("S15")
async def test_a_budget_of_tokens_counts_those_of_both_sides(stage: Stage) -> None:
    with pytest.raises(BudgetExceeded, match=r"^the budget of 14 total tokens is used up \(15\)$"):
        await stage.says("hello", context=stage.context(budget={"total_tokens": 14}))


@pytest.mark.spec("S15")
async def test_a_budget_of_money_stops_the_turn(stage: Stage) -> None:
    context = stage.context(budget={"cost_microdollars": 400_000})
    with pytest.raises(BudgetExceeded, match="400000 microdollars"):
        await stage.says("COST 0.3\nCOST 0.5\nRUN touch witness", context=context)
    assert not (stage.project / "witness").exists()


@pytest.mark.spec("S15")
async def test_usage_is_reported(stage: Stage) -> None:
    context = stage.context()
    async with stage.agent() as agent:
        answer = await agent.prompt(
            await agent.open(context), "USE 70 8\nCOST 0.25\nRUN echo 1\nRUN echo 2", context
        )
    assert answer.usage == {
        "input_tokens": 70, "output_tokens": 8, "requests": 3, "tool_calls": 2, "cost_microdollars": 250_000,
    }  # fmt: skip


async def test_the_pipe_of_an_agent_that_reads_nothing_is_closed() -> None:
    held = "exec 3<&0; sleep 1000 <&3 & echo $!; exec sleep 1000"
    process = await asyncio.create_subprocess_exec("/bin/sh", "-c", held, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    holder = int(await process.stdout.readline())
    process.stdin.write(b"x" * 1_000_000)
    pipe = process.stdin.get_extra_info("pipe")
    process.kill()

    close_pipes(process)
    await asyncio.sleep(0)

    assert pipe.closed
    os.kill(holder, signal.SIGKILL)
    await process.wait()


@pytest.mark.trap(64)
async def test_an_agent_that_does_not_stop_is_ended(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_module, "_GRACE", 0.2)
    context = stage.context()
    async with stage.agent(*ALL, "deaf") as agent:
        session = await agent.open(context)
        asking = asyncio.create_task(agent.prompt(session, "hello\nSILENT", context))
        while not (stage.home / "prompts").exists():
            await asyncio.sleep(0.01)
        await agent.abort(session)
        with pytest.raises(AgentError, match="the prompt was stopped"):
            await asyncio.wait_for(asking, 60)


@pytest.mark.spec("A8")
async def test_a_question_ends_with_the_turn(stage: Stage) -> None:
    """An agent that was stopped while a person thinks learns that the question is void."""
    never = asyncio.Event()

    class Forgotten(RecordingContext):
        async def request_approval(self, call: ToolCall) -> Decision:
            await super().request_approval(call)
            await never.wait()
            raise AssertionError

    context = Forgotten(stage.folder / "context", spec=evolve(SPEC, cwd=str(stage.project)))
    async with stage.agent() as agent:
        session = await agent.open(context)
        asking = asyncio.create_task(agent.prompt(session, "RUN touch witness", context))
        while not context.asked:
            await asyncio.sleep(0.01)
        await agent.abort(session)
        with pytest.raises(AgentError, match="stopped"):
            await asyncio.wait_for(asking, 60)
    assert not (stage.project / "witness").exists()


async def test_a_question_that_cannot_be_asked_ends_the_turn(stage: Stage) -> None:
    class Broken(RecordingContext):
        async def request_approval(self, call: ToolCall) -> Decision:
            raise OSError("no room")

    context = Broken(stage.folder / "context", spec=evolve(SPEC, cwd=str(stage.project)))
    with pytest.raises(AgentError, match="could not be requested: OSError"):
        await stage.says("RUN touch witness", context=context)
    assert not (stage.project / "witness").exists()


@pytest.mark.spec("S5")
async def test_a_session_that_the_agent_lost_is_gone(stage: Stage) -> None:
    context = stage.context()
    async with stage.agent() as agent:
        session = await agent.open(context)
        await agent.prompt(session, "hello", context)
    (stage.home / f"{session}.session").unlink()
    for can in (("load",), ("resume",)):
        async with stage.agent(*can) as agent:
            with pytest.raises(SessionGone):
                await agent.prompt(session, "hello again", stage.context(run="tested-222222.2"))


@pytest.mark.spec("S18")
@pytest.mark.parametrize("can", ["load", "resume"])
async def test_an_agent_is_asked_whether_it_has_a_session(stage: Stage, can: str) -> None:
    context = stage.context()
    async with stage.agent(can) as agent:
        session = await agent.open(context)
        await agent.prompt(session, "hello", context)
    lines = context.messages(session) or ()

    async with stage.agent(can) as agent:
        assert agent.knows(session, lines, str(stage.project))
    (stage.home / f"{session}.session").unlink()
    async with stage.agent(can) as agent:
        assert not agent.knows(session, lines, str(stage.project))
    assert stage.prompts() == ["hello"]


@pytest.mark.spec("S18", "S16")
@pytest.mark.parametrize(
    "settings",
    [{}, {"command": ["false"]}, {"command": ["no-such-agent"]}, {"command": ["sleep", "600"]}],
    ids=["cannot look", "dies", "is not installed", "does not answer"],
)
async def test_an_agent_that_cannot_tell_may_still_have_a_session(
    stage: Stage, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        backend_module, "_LOOKUP", 20.0 if settings.get("command") != ["sleep", "600"] else 0.5
    )
    context = stage.context()
    async with stage.agent("fork") as agent:
        session = await agent.open(context)
        await agent.prompt(session, "hello", context)
    (stage.home / f"{session}.session").unlink()

    async with stage.agent("fork", **settings) as agent:
        assert agent.knows(session, context.messages(session) or (), str(stage.project))


@pytest.mark.spec("S18")
async def test_a_session_is_looked_for_under_the_name_that_the_agent_knows(stage: Stage) -> None:
    """Some agents keep a session only from its first prompt on; it gets another name there, then."""
    context = stage.context()
    async with stage.agent("load") as agent:
        session = await agent.open(context)
    (stage.home / f"{session}.session").unlink()
    async with stage.agent("load") as agent:
        assert agent.knows(session, context.messages(session) or (), str(stage.project))
        await agent.prompt(session, "hello", context)

    async with stage.agent("load") as agent:
        assert agent.knows(session, context.messages(session) or (), str(stage.project))
