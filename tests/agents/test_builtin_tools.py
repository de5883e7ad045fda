"""The built-in agent's tools: what they do, who is asked before, and in which order they are carried out."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from errands.model.errors import AgentError, BadValue
from errands.ports.agent import Decision, ToolCall
from errands.testing.agent_context import RecordingContext, no, yes
from tests.agents.builtin_stage import Stage, call, stage

ROOT = Path(__file__).parents[2]
ALL = {
    "command", "read_file", "write_file", "list_files", "search_files", "memory_set", "memory_get",
}  # fmt: skip


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def error(words: str) -> str:
    """Return what the model learns about a call that failed."""
    return json.dumps({"error": words}, separators=(",", ":"))


@pytest.mark.spec("R1")
async def test_the_model_gets_the_system_prompt_of_the_task_and_nothing_more(on: Stage) -> None:
    on.sit_down(spec={"system": "You are executing a background task. Look after the tests."})

    await on.ask("hello")

    assert on.context.session == "task:tested-222222"
    assert [(each["role"], each["content"]) for each in on.model.asked[0].body["messages"]] == [
        ("system", "You are executing a background task. Look after the tests."),
        ("user", "hello"),
    ]


@pytest.mark.spec("R1")
@pytest.mark.trap(58)
async def test_the_system_prompt_and_the_tools_are_the_same_in_every_request(on: Stage) -> None:
    on.sit_down(spec={"tools": ("read_file",)})
    await on.ask("hello")
    on.sit_down(number=2, spec={"tools": ("read_file",)})
    await on.ask(call("read_file", path="x"))

    systems = {each.body["messages"][0]["content"] for each in on.model.asked}
    assert systems == {on.context.spec.system}
    assert {each.offers for each in on.model.asked} == {frozenset({"read_file"})}


@pytest.mark.spec("R4")
async def test_all_tools_are_offered_unless_the_launch_chose_some(on: Stage) -> None:
    await on.ask("hello")
    assert on.model.asked[-1].offers == ALL

    on.sit_down(number=2, spec={"tools": ("command", "memory_get")})
    await on.ask("hello")
    assert on.model.asked[-1].offers == {"command", "memory_get"}

    on.sit_down(number=3, spec={"tools": ("comand",)})
    with pytest.raises(BadValue, match=r"unknown tool 'comand' \(did you mean command\?\)"):
        await on.ask("hello")


@pytest.mark.spec("R4")
async def test_files_are_written_read_listed_and_searched(on: Stage) -> None:
    await on.ask(
        call("write_file", path="notes/today.md", content="buy milk\nand honey\n"),
        call("read_file", path="notes/today.md", start=2),
        call("list_files", path="notes"),
        call("search_files", text="milk"),
        call("read_file", path="../secret"),
        call("read_file", path="nowhere"),
        call("read_file", path="\0"),
    )

    assert on.results() == [
        "made notes/today.md, 19 bytes",
        "and honey\n",
        "today.md",
        "notes/today.md:1: buy milk",
        error(f"../secret is not inside the project, {on.project}"),
        error("No such file or directory: nowhere"),
        error("embedded null byte"),
    ]
    assert [each.failed for each in on.context.notes if each.kind == "tool_end"] == [False] * 4 + [True] * 3


async def test_a_model_may_speak_the_younger_protocol_of_openai(on: Stage) -> None:
    answer = await on.ask(call("command", line="echo marmalade"), "SAY done", model="openai-responses:fake")

    assert answer.text == "done"
    assert {each.path for each in on.model.asked} == {"/v1/responses"}
    assert '"output": "marmalade\\n"' in on.model.asked[-1].text
    assert answer.usage["input_tokens"] == 20


@pytest.mark.spec("R4")
@pytest.mark.parametrize("path", ["../secret", "/etc/motd", "\0"])
async def test_no_approval_is_requested_for_a_file_that_cannot_be_written(on: Stage, path: str) -> None:
    await on.ask(call("write_file", path=path, content="x"), call("write_file", path="inside", content="x"))

    assert on.results()[0].startswith("This call was not carried out: ")
    assert [each.arguments["path"] for each in on.context.asked] == ["inside"]
    assert [each.failed for each in on.context.notes if each.kind == "tool_end"] == [True, False]
    assert (on.project / "inside").read_text() == "x"


@pytest.mark.spec("R4")
async def test_what_is_remembered_outlives_the_run_and_stays_in_its_project(on: Stage) -> None:
    await on.ask(call("memory_set", name="pipeline", value="green"), call("memory_get", name="weather"))
    assert on.results()[-1] == error("Nothing is remembered as 'weather'. Known names: pipeline")

    agent = on.agent()
    other = RecordingContext(on.folder / "other", spec=on.context.spec, session="task:other-333333")
    await agent.open(other)
    await agent.prompt(other.session, call("memory_get", name="pipeline"), other)
    assert on.results() == ["green"]

    (on.folder / "elsewhere").mkdir()
    on.project = on.folder / "elsewhere"
    on.sit_down(number=2)
    await on.ask(call("memory_get", name="pipeline"))
    assert on.results()[-1] == error("Nothing is remembered as 'pipeline'. Known names: nothing")


@pytest.mark.spec("R4")
async def test_a_command_returns_its_output_and_how_it_ended(on: Stage) -> None:
    await on.ask(
        call("command", line="echo fine"),
        call("command", line="echo bad; sh -c 'exit 3'"),
        call("command", line="true"),
        call("command", line="yes | head -c 50000"),
    )

    fine, bad, silent, long = on.results()
    assert fine == "fine\n"
    assert bad == "bad\n\n[failed: exit code 3]"
    assert silent == "[no output]"
    assert "[30,000 characters left out]" in long
    assert len(long) < 21_000


@pytest.mark.spec("A8")
async def test_only_calls_that_change_something_by_themselves_are_asked_about(on: Stage) -> None:
    await on.ask(
        call("read_file", path="x"),
        call("memory_set", name="a", value="b"),
        call("write_file", path="x", content="new"),
        call("command", line="true"),
    )

    asked = [(each.tool, each.arguments, each.command) for each in on.context.asked]
    assert asked == [("write_file", {"path": "x", "content": "new"}, None), ("command", {}, "true")]


@pytest.mark.spec("A8")
async def test_a_refused_write_is_not_carried_out_and_the_model_learns_why(on: Stage) -> None:
    on.sit_down(decide=no)

    await on.ask(call("write_file", path="x", content="new"))

    assert not (on.project / "x").exists()
    assert on.results() == ["This call was not allowed: the person said no"]
    on.sit_down(number=2)
    assert (await on.ask("RECALL the person said no")).text == "recalled"


@pytest.mark.spec("A8")
async def test_calls_of_one_answer_are_carried_out_in_their_order_also_around_a_held_one(on: Stage) -> None:
    await on.ask(
        call("command", line="cat x; echo 1 >>order"),
        call("write_file", path="x", content="letter").replace("CALL", "AND"),
        call("command", line="cat x; echo 2 >>order").replace("CALL", "AND"),
        call("read_file", path="x").replace("CALL", "AND"),
    )

    first, written, second, read = on.results()
    assert "No such file" in first
    assert written == "made x, 6 bytes"
    assert second == "letter"
    assert read == "letter"
    assert on.context.tools() == ["command", "write_file", "command", "read_file"]


@pytest.mark.spec("A8", "S14")
async def test_a_call_that_was_held_when_the_process_ended_is_asked_about_again(on: Stage) -> None:
    text = call("write_file", path="x", content="new")
    asked = asyncio.Event()

    class Waiting(RecordingContext):
        async def request_approval(self, call: ToolCall) -> Decision:
            asked.set()
            await asyncio.Event().wait()
            return yes(call)

    context = Waiting(on.folder / "context", spec=on.context.spec, run=on.context.run)
    agent = on.agent()
    await agent.open(context)
    asking = asyncio.create_task(agent.prompt(context.session, text, context))
    await asyncio.wait_for(asked.wait(), 10)
    asking.cancel()
    await asyncio.wait([asking])
    assert asking.cancelled()

    answer = await on.agent().recover(context.session, text, on.sit_down())

    assert (on.project / "x").read_text() == "new"
    assert "made x" in answer.text
    assert [each.tool for each in on.context.asked] == ["write_file"]
    assert len(on.model.asked) == 2


@pytest.mark.spec("S14")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (call("write_file", path="x", content="y"), "This call was not carried out: the run ended before"),
        (call("command", line="true"), "It may or may not have been carried out, and it was not repeated"),
    ],
)
async def test_a_prompt_after_an_aborted_one_says_what_became_of_the_open_call(
    on: Stage, line: str, words: str
) -> None:
    held = asyncio.Event()

    class Waiting(RecordingContext):
        async def request_approval(self, call: ToolCall) -> Decision:
            held.set()
            await asyncio.Event().wait()
            return yes(call)

    context = Waiting(on.folder / "context", spec=on.context.spec, run=on.context.run)
    agent = on.agent()
    session = await agent.open(context)
    asking = asyncio.create_task(agent.prompt(session, line, context))
    await asyncio.wait_for(held.wait(), 10)
    await agent.abort(session)
    with pytest.raises(AgentError, match="the prompt was stopped"):
        await asking

    on.sit_down(number=2)
    await on.ask("SAY never mind")

    (told,) = on.results()
    assert words in told
    assert not (on.project / "x").exists()


@pytest.fixture
def mcp(tmp_path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.agents.mcp_server", str(tmp_path / "counted")]
    return {"counting": {"command": command, "env": {"PYTHONPATH": str(ROOT), "FLAVOUR": "vanilla"}}}


@pytest.mark.spec("R4", "A8")
async def test_tools_of_mcp_servers_are_offered_and_asked_about(
    on: Stage, mcp: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_HOME", "/a/home")  # as in the process of every agent
    answer = await on.ask(call("mcp_counting_count", word="honey"), call("mcp_counting_fail"), mcp=mcp)

    assert on.model.asked[0].offers == ALL | {"mcp_counting_count", "mcp_counting_fail"}
    assert [(each.tool, each.arguments) for each in on.context.asked] == [
        ("mcp_counting_count", {"word": "honey"}),
        ("mcp_counting_fail", {}),
    ]
    counted, failed = on.results()
    assert "honey has 5 letters" in counted
    assert "Error executing tool fail" in failed
    assert "honey has 5 letters" in answer.text
    assert (on.folder / "counted").read_text() == f"honey {on.project} vanilla /a/home\n"


@pytest.mark.spec("A8")
async def test_a_refused_tool_of_a_server_is_not_called(on: Stage, mcp: dict[str, Any]) -> None:
    on.sit_down(decide=no, spec={"tools": ("mcp_counting",)})

    await on.ask(call("mcp_counting_count", word="honey"), mcp=mcp)

    assert on.model.asked[0].offers == {"mcp_counting_count", "mcp_counting_fail"}
    assert on.results() == ["This call was not allowed: the person said no"]
    assert not (on.folder / "counted").exists()


@pytest.mark.parametrize(
    "server",
    [
        {"command": "no-such-program --at all"},
        {"command": [sys.executable, "-c", "pass"]},
        {"url": "http://127.0.0.1:9/mcp"},
        {"program": "x"},
    ],
)
async def test_a_server_that_does_not_start_is_named(on: Stage, server: dict[str, Any]) -> None:
    with pytest.raises((AgentError, BadValue), match="MCP server 'broken'"):
        await on.ask("hello", mcp={"broken": server})

    assert on.model.asked == []


async def test_a_wrong_setting_is_refused(on: Stage) -> None:
    with pytest.raises(BadValue, match=r"no setting 'escelate' \(did you mean escalate\?\)"):
        on.agent(escelate="x")
    with pytest.raises(AgentError, match="has no model"):
        await on.ask("hello", model="")
    with pytest.raises(AgentError, match="the variable NO_SUCH_KEY of the secret is empty"):
        await on.ask("hello", key="env:NO_SUCH_KEY")


async def test_a_key_goes_where_it_belongs_and_nowhere_else(
    on: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "belongs-to-somebody-else")
    monkeypatch.setenv("MY_KEY", "for-this-server")

    await on.ask("hello")
    assert "belongs-to-somebody-else" not in str(on.model.asked[-1].headers)
    await on.ask("hello", key="env:MY_KEY")
    assert "Bearer for-this-server" in str(on.model.asked[-1].headers)


def test_mcp_is_not_loaded_unless_it_is_configured() -> None:
    code = "import sys, errands.agents.builtin; print(json.dumps([m for m in sys.modules]))"
    told = subprocess.run(
        [sys.executable, "-c", f"import json; {code}"],
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src"},
        text=True,
        capture_output=True,
        check=True,
    )
    loaded = set(json.loads(told.stdout))
    assert "pydantic_ai" in loaded
    assert loaded & {"mcp", "fastmcp", "openai", "anthropic"} == set()
