"""The real Claude Code as an agent: it keeps the contract, and what is special about it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from errands.agents.command import Command
from errands.agents.command.process import descendants
from errands.model.errors import AgentUnavailable, BudgetExceeded, SessionGone, StoreError
from errands.ports.agent import Decision, ToolCall
from errands.testing.agent_context import no, yes
from errands.testing.contracts.agent import until
from tests.clients.program_agents import ProgramContract, desk_in
from tests.clients.programs import claude_env, program, ran
from tests.model_server import ModelServer


def running(line: str, *, how: str = "CALL") -> str:
    return f"{how} Bash {json.dumps({'command': line})}"


def settings(home: Path, model: ModelServer) -> dict[str, Any]:
    return {
        "preset": "claude",
        "command": [program("claude")],
        "arguments": ["--model", "claude-fake"],
        "env": claude_env(home, model.url),
        "home": str(home),
        "retries": 1,
    }


class TestClaudeCode(ProgramContract):
    factory = "errands.agents.command:Command"

    def settings(self) -> Mapping[str, Any]:
        return settings(self.home, self.model)

    def running(self, line: str) -> str:
        return running(line)


@pytest.fixture
def claude(model: ModelServer, tmp_path: Path) -> Command:
    return Command(settings(tmp_path / "home", model))


@pytest.mark.fault("F47")
@pytest.mark.trap(61)
@pytest.mark.parametrize("fault", ["500", "cut", "refuse", "garbage", "silent"])
async def test_a_failing_model_is_given_up(
    claude: Command, model: ModelServer, tmp_path: Path, fault: str
) -> None:
    context = desk_in(tmp_path)
    session = await claude.open(context)

    with pytest.raises(AgentUnavailable, match="the model gave no answer"):
        await claude.prompt(session, f"FAIL {fault}\nSAY never to Claude", context)

    asked = model.asked_for(f"FAIL {fault}\nSAY never to Claude")
    assert 1 <= len(asked) <= 4
    again = await claude.prompt(session, "SAY here again", desk_in(tmp_path, run="tested-222222.2"))
    assert again.text == "here again"


@pytest.mark.spec("S9")
async def test_long_results_are_clipped_only_in_a_fork(
    claude: Command, model: ModelServer, tmp_path: Path
) -> None:
    context = desk_in(tmp_path)
    session = await claude.open(context)
    await claude.prompt(session, running("seq 1 2000"), context)

    forked = await claude.fork(session, context)
    await claude.prompt(forked, "SAY in Claude's fork", desk_in(tmp_path, run="tested-222222.2"))
    await claude.prompt(session, "SAY in Claude's parent", desk_in(tmp_path, run="tested-222222.3"))

    (in_the_fork,), (in_the_parent,) = (
        model.asked_for(words) for words in ("in Claude's fork", "in Claude's parent")
    )
    (fork_call, fork_result), (parent_call, parent_result) = (
        [
            part
            for message in asked.body["messages"]
            for part in message["content"]
            if isinstance(part, dict) and part["type"] in ("tool_use", "tool_result")
        ]
        for asked in (in_the_fork, in_the_parent)
    )
    assert (fork_call["id"], fork_call["name"], fork_call["input"]) == (
        parent_call["id"],
        parent_call["name"],
        parent_call["input"],
    )
    assert fork_result["tool_use_id"] == parent_result["tool_use_id"]
    assert len(parent_result["content"]) > 8000
    assert len(fork_result["content"]) < 1600
    assert f"{len(parent_result['content']):,} characters" in fork_result["content"]


@pytest.mark.spec("S10")
async def test_a_fork_that_is_too_long_omits_the_oldest_messages(
    claude: Command, model: ModelServer, tmp_path: Path
) -> None:
    context = desk_in(tmp_path)
    session = await claude.open(context)
    for number in range(5):
        await claude.prompt(
            session,
            f"SAY ok\nnote {number} {'x' * 100_000}",
            desk_in(tmp_path, run=f"tested-222222.{number}"),
        )

    forked = await claude.fork(session, context)
    await claude.prompt(forked, "SAY what is left for Claude", desk_in(tmp_path, run="tested-222222.9"))

    (asked,) = model.asked_for("what is left for Claude")
    assert [number for number in range(5) if f"note {number} " in asked.text] == [2, 3, 4]


@pytest.mark.spec("S8")
async def test_a_fork_does_not_see_what_its_parent_says_later(claude: Command, tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    session = await claude.open(context)
    await claude.prompt(session, "SAY marmalade", context)
    forked = await claude.fork(session, context)
    await claude.prompt(session, "SAY honey", desk_in(tmp_path, run="tested-222222.2"))

    answer = await claude.prompt(forked, "RECALL", desk_in(tmp_path, run="tested-222222.3"))

    assert "marmalade" in answer.text
    assert "honey" not in answer.text


@pytest.mark.spec("A8")
async def test_of_two_calls_at_once_one_can_be_refused(claude: Command, tmp_path: Path) -> None:
    def decide(call: ToolCall) -> Decision:
        return no(call) if "bad" in (call.command or "") else yes(call)

    context = desk_in(tmp_path, decide=decide)
    session = await claude.open(context)

    answer = await claude.prompt(
        session, f"{running('echo bad')}\n{running('touch good', how='AND')}", context
    )

    assert (tmp_path / "project" / "good").exists()
    assert "the person said no" in answer.text


@pytest.mark.spec("A8")
async def test_calls_that_its_own_settings_allow_still_need_approval(claude: Command, tmp_path: Path) -> None:
    place = tmp_path / "home" / ".claude"
    place.mkdir(parents=True)
    (place / "settings.json").write_text(json.dumps({"permissions": {"allow": ["Bash(touch:*)"]}}))
    context = desk_in(tmp_path, decide=no)
    session = await claude.open(context)

    await claude.prompt(session, running("touch witness"), context)

    assert [call.command for call in context.asked] == ["touch witness"]
    assert not (tmp_path / "project" / "witness").exists()


@pytest.mark.trap(64)
async def test_a_cancelled_prompt_leaves_no_process_behind(claude: Command, tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    session = await claude.open(context)
    asking = asyncio.create_task(claude.prompt(session, running("echo $$ >pid; sleep 60"), context))
    await until(lambda: _number(tmp_path / "project" / "pid"), asking)
    shell = _number(tmp_path / "project" / "pid")

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert not Path(f"/proc/{shell}").exists() or not descendants(shell)
    found = subprocess.run(["pgrep", "-f", session], capture_output=True, check=False)
    assert found.stdout == b""


@pytest.mark.trap(58)
async def test_the_session_has_the_tools_and_the_words_of_its_specification(
    claude: Command, model: ModelServer, tmp_path: Path
) -> None:
    options = {"tools": ("Bash", "Read"), "model": "claude-duck", "system": "Be a duck."}
    context = desk_in(tmp_path, spec=options)
    claude = Command({**settings(tmp_path / "home", model), "arguments": []})
    session = await claude.open(context)

    await claude.prompt(session, "SAY quack, Claude", context)
    await claude.prompt(session, "SAY quack, Claude", desk_in(tmp_path, spec=options, run="tested-222222.2"))

    for asked in [each for each in model.asked_for("SAY quack, Claude") if each.path == "/v1/messages"]:
        assert asked.offers - {"DeferredToolPlaceholder"} == {"Bash", "Read"}
        assert asked.body["model"] == "claude-duck"
        assert "Be a duck." in asked.text


@pytest.mark.spec("S15")
async def test_it_stops_at_the_number_of_requests_it_may_make(claude: Command, tmp_path: Path) -> None:
    context = desk_in(tmp_path, spec={"budget": {"requests": 2}})
    session = await claude.open(context)

    with pytest.raises(BudgetExceeded, match="limit"):
        await claude.prompt(session, "\n".join(running(f"echo {each}") for each in range(5)), context)

    assert len(context.tools()) == 2


async def test_a_call_without_a_person_to_ask_ends_the_turn(claude: Command, tmp_path: Path) -> None:
    def decide(call: ToolCall) -> Decision:
        raise StoreError("the disk is full")

    context = desk_in(tmp_path, decide=decide)
    session = await claude.open(context)

    async with asyncio.timeout(60):
        with pytest.raises(StoreError, match="the disk is full"):
            await claude.prompt(session, running("touch never"), context)

    assert not (tmp_path / "project" / "never").exists()


@pytest.mark.spec("S15")
@pytest.mark.trap(63)
@pytest.mark.parametrize(
    ("budget", "calls"), [({"tool_calls": 2}, 2), ({"total_tokens": 25}, 3), ({"output_tokens": 20}, 6)]
)
async def test_it_stops_at_its_budget(
    claude: Command, tmp_path: Path, budget: dict[str, int], calls: int
) -> None:
    context = desk_in(tmp_path, spec={"budget": budget})
    session = await claude.open(context)
    lines = [running(f"echo {each} >>{min(budget)}") for each in range(6)]

    with pytest.raises(BudgetExceeded, match="is used up"):
        await claude.prompt(session, "\n".join(lines), context)

    assert len((tmp_path / "project" / min(budget)).read_text().split()) <= calls


@pytest.mark.spec("S14")
async def test_an_answer_that_only_the_transcript_has_is_found_there(
    claude: Command, model: ModelServer, tmp_path: Path
) -> None:
    """The process died after the answer arrived and before it was stored."""
    context = desk_in(tmp_path)
    session = await claude.open(context)
    await claude.prompt(session, "SAY marmalade once", context)
    place = context.folder / "sessions" / session
    lines = place.read_text().splitlines()
    place.write_text("\n".join(line for line in lines if '"answer' not in line) + "\n")

    answer = await claude.recover(session, "SAY marmalade once", context)

    assert answer.text == "marmalade once"
    assert len(model.asked_for("SAY marmalade once")) == 1


@pytest.mark.spec("S1")
async def test_a_session_whose_transcript_was_deleted_continues(claude: Command, tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    session = await claude.open(context)
    await claude.prompt(session, "SAY marmalade", context)
    await claude.prompt(session, "SAY honey", desk_in(tmp_path, run="tested-222222.2"))
    for path in (tmp_path / "home").glob(f".claude/projects/*/{session}.jsonl"):
        path.unlink()

    answer = await claude.prompt(session, "RECALL", desk_in(tmp_path, run="tested-222222.3"))
    again = await claude.prompt(session, "RECALL", desk_in(tmp_path, run="tested-222222.4"))

    for each in (answer, again):
        assert "marmalade" in each.text
        assert "honey" in each.text


@pytest.mark.spec("S5")
async def test_a_session_without_any_trace_is_gone(claude: Command, tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    session = await claude.open(context)
    await claude.prompt(session, "SAY marmalade", context)
    for path in (tmp_path / "home").rglob(f"{session}.jsonl"):
        path.unlink()

    with pytest.raises(SessionGone):
        await claude.prompt(session, "SAY honey", desk_in(tmp_path, run="tested-222222.2"))
    with pytest.raises(SessionGone):
        await claude.fork(session, context)


async def test_a_dropped_session_leaves_no_transcript(claude: Command, tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    session = await claude.open(context)
    await claude.prompt(session, "SAY marmalade", context)
    await claude.fork(session, context)

    await claude.drop(session, context)

    assert list((tmp_path / "home").rglob(f"{session}*.jsonl")) == []


def test_it_is_the_real_program() -> None:
    said = subprocess.run([program("claude"), "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("2.1.325")


def _number(path: Path) -> int:
    return int(path.read_text() or 0) if path.exists() else 0


@pytest.mark.spec("S8", "S9", "S11", "S17")
async def test_a_conversation_of_the_person_is_forked(
    claude: Command, model: ModelServer, tmp_path: Path
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir(exist_ok=True)
    theirs = "6f0c1d3e-0000-4000-8000-000000000001"
    words = ["--model", "claude-fake", "--session-id", theirs, "SAY marmalade for Claude"]
    env = {"PATH": os.environ["PATH"], **claude_env(home, model.url)}
    ran([program("claude"), "-p", *words], cwd=project, env=env)
    (kept,) = home.rglob(f"{theirs}.jsonl")
    before = kept.read_bytes()

    context = desk_in(tmp_path, spec={"system": "You are a fork."})
    forked = await claude.fork(theirs, context)
    answer = await claude.prompt(forked, "RECALL", context)

    assert forked != theirs
    assert "marmalade for Claude" in answer.text
    (asked,) = [each for each in model.asked_for("RECALL") if "marmalade for Claude" in json.dumps(each.body)]
    assert "You are a fork." in json.dumps(asked.body["system"])
    assert kept.read_bytes() == before
    with pytest.raises(SessionGone):
        await claude.fork("6f0c1d3e-0000-4000-8000-000000000002", context)
