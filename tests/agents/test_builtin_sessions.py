"""Sessions of the built-in agent: what is kept of a conversation, and what a fork gets of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from errands.agents.builtin.conversation import Conversation, copied, dumped
from errands.model.agent.fork import LONGEST_RESULT, MOST_TOKENS, PREAMBLE, tokens
from errands.testing.agent_context import RecordingContext
from tests.agents.builtin_stage import Stage, call, stage


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def conversation(context: RecordingContext) -> Conversation:
    context.append_messages(context.session, [])
    return Conversation(context.session, context)


def calling(*ids: str, tool: str = "command", arguments: str = '{"line":"true"}') -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(tool, arguments, tool_call_id=each) for each in ids])


def result(call_id: str, content: str = "done", *, tool: str = "command") -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart(tool_name=tool, content=content, tool_call_id=call_id)])


def shape(messages: list[ModelMessage]) -> list[list[str]]:
    """Return the parts of every message, calls and results by their ids."""
    return [[getattr(part, "tool_call_id", part.part_kind) for part in each.parts] for each in messages]


async def test_results_stand_behind_their_calls_whatever_came_between(on: Stage) -> None:
    kept = conversation(on.context)
    kept.prompt("go")
    kept.keep(calling("one", "two"))
    kept.keep(result("two"))
    await on.agent().post(on.context.session, "by the way", on.context)
    kept = Conversation(on.context.session, on.context)
    kept.keep(result("one"))

    expected = [["user-prompt"], ["one", "two"], ["one", "two"], ["user-prompt"]]
    assert shape(kept.messages) == expected
    assert kept.open_calls() == []
    kept.keep(ModelResponse(parts=[TextPart("all done")]))
    assert shape(kept.messages) == [*expected, ["text"]]
    assert shape(Conversation(on.context.session, on.context).messages) == [*expected, ["text"]]
    assert kept.answer() == "all done"


async def test_ids_that_a_server_reuses_are_made_unique(on: Stage) -> None:
    """Otherwise the result of an earlier command would be given for a later one."""
    kept = conversation(on.context)
    kept.prompt("go")
    for _ in range(3):
        response = kept.distinct(calling("call_1", "call_1"))
        kept.keep(response)
        for part in response.tool_calls:
            kept.keep(result(part.tool_call_id))

    assert shape(kept.messages)[1::2] == [
        ["call_1", "call_1-2"],
        ["call_1-3", "call_1-4"],
        ["call_1-5", "call_1-6"],
    ]


async def test_a_post_in_the_middle_of_a_run_is_seen_by_the_next_prompt(on: Stage) -> None:
    agent = on.agent()
    session = await agent.open(on.context)
    asking = asyncio.create_task(
        agent.prompt(session, call("command", line="until [ -e go ]; do sleep 0.01; done"), on.context)
    )
    while not on.context.tools():
        await asyncio.sleep(0.01)
    await agent.post(session, "the password is swordfish", on.context)
    (on.project / "go").touch()
    await asking

    on.sit_down(number=2)
    assert (await on.ask("RECALL swordfish")).text == "recalled"


@pytest.mark.spec("S2")
async def test_words_beside_calls_are_noted_and_kept(on: Stage) -> None:
    answer = await on.ask("SAY good morning")

    assert answer.text == "good morning"
    assert [each.text for each in on.context.notes if each.kind == "text"] == ["good morning"]


@pytest.mark.spec("S15")
async def test_tokens_are_counted_for_each_run(on: Stage) -> None:
    first = await on.ask("USE 100 7", call("command", line="true"))
    on.sit_down(number=2)
    second = await on.ask("USE 30 2")

    assert first.usage == {"requests": 2, "tool_calls": 1, "input_tokens": 200, "output_tokens": 14}
    assert second.usage == {"requests": 1, "tool_calls": 0, "input_tokens": 30, "output_tokens": 2}


@pytest.mark.spec("S8", "S9", "S11")
async def test_a_fork_has_short_results_and_the_parent_its_long_ones(on: Stage) -> None:
    await on.ask(call("command", line="yes abc | head -c 5000"))
    child = RecordingContext(
        on.folder / "context", spec=on.context.spec, session="task:child-333333", run="child.1"
    )
    agent = on.agent()
    before = on.context.messages(on.context.session)

    forked = await agent.fork(on.context.session, child)
    asked = len(on.model.asked)
    await agent.post(forked, PREAMBLE, child)
    assert len(on.model.asked) == asked
    await agent.prompt(forked, "hello", child)

    assert forked == "task:child-333333"
    messages = on.model.asked[-1].body["messages"]
    (told,) = [each["content"] for each in messages if each["role"] == "tool"]
    assert told.startswith("abc\n" * 375 + "\n[truncated: the first 1,500 of 5,000 characters]")
    (called,) = [each["tool_calls"][0] for each in messages if each.get("tool_calls")]
    assert json.loads(called["function"]["arguments"]) == {"line": "yes abc | head -c 5000"}
    assert [each["content"] for each in messages[-2:]] == [PREAMBLE, "hello"]
    assert on.context.messages(on.context.session) == before


@pytest.mark.spec("S10")
def test_a_fork_that_is_too_long_loses_its_oldest_messages_and_no_half_of_a_pair() -> None:
    words = "word " * 5000
    messages: list[ModelMessage] = []
    for number in range(30):
        messages += [
            ModelRequest(parts=[UserPromptPart(f"prompt {number}: {words}")]),
            calling(f"call {number}"),
            result(f"call {number}", "x" * (LONGEST_RESULT + 1)),
            ModelResponse(parts=[TextPart(f"answer {number}")]),
        ]

    fork = copied(messages)

    assert sum(tokens(dumped(each)) for each in fork) <= MOST_TOKENS
    assert len(fork) < len(messages)
    assert fork[-1] == messages[-1]
    calls = [part.tool_call_id for each in fork for part in each.parts if isinstance(part, ToolCallPart)]
    results = [part.tool_call_id for each in fork for part in each.parts if isinstance(part, ToolReturnPart)]
    assert calls == results
    assert calls[-1] == "call 29"


def test_a_fork_of_one_long_turn_does_not_begin_with_the_model() -> None:
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
    for number in range(300):
        messages += [
            calling(f"call {number}", arguments=json.dumps({"line": "x" * 2000})),
            result(f"call {number}"),
        ]

    fork = copied(messages)

    (lost,) = fork[0].parts
    assert isinstance(lost, UserPromptPart)
    assert lost.content == "[The beginning of this conversation is not here.]"
    assert shape(fork)[1] == shape(fork)[2]


@pytest.mark.spec("S8")
async def test_a_fork_in_the_middle_of_a_call_can_be_prompted(on: Stage) -> None:
    kept = conversation(on.context)
    kept.prompt("go")
    kept.keep(calling("one", "two"))
    kept.keep(result("one"))
    child = RecordingContext(
        on.folder / "context", spec=on.context.spec, session="task:child-333333", run="child.1"
    )
    agent = on.agent()

    forked = await agent.fork(on.context.session, child)
    answer = await agent.prompt(forked, "SAY fine", child)

    assert answer.text == "fine"
    assert len(on.results()) == 2
    assert [each.tool_call_id for each in Conversation(on.context.session, on.context).open_calls()] == [
        "two"
    ]


@pytest.mark.parametrize(
    ("name", "path", "model"),
    [("fake:8b", "openai_url", "fake:8b"), ("ollama:qwen3:8b", "openai_url", "qwen3:8b")],
)
async def test_a_model_may_have_any_name(on: Stage, name: str, path: str, model: str) -> None:
    settings: dict[str, Any] = {"model": name, "url": getattr(on.model, path)}

    await on.ask("hello", **settings)

    assert on.model.asked[-1].body["model"] == model


async def test_ollama_on_this_machine_is_the_default(on: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", on.model.openai_url)

    assert (await on.ask("SAY hello", model="qwen3:8b", url=None)).text == "hello"


@pytest.mark.trap(58)
async def test_the_model_of_the_launch_is_asked(on: Stage) -> None:
    for number, name in enumerate(("other", "other:8b"), start=1):
        on.sit_down(number=number, spec={"model": name})
        await on.ask("hello")
        assert on.model.asked[-1].body["model"] == name
