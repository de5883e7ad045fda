"""The real Codex as an agent: it keeps the contract, and forks what the person said in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from errands.agents.command import CodexCli
from errands.model.agent.fork import LONGEST_RESULT
from errands.model.errors import AgentError, AgentUnavailable, SessionGone
from tests.clients.program_agents import ProgramContract, desk_in
from tests.clients.programs import codex_env, program, ran
from tests.model_server import ModelServer

# Its sandbox needs a home outside of the directory for temporary files.
ANYTHING = ["-s", "danger-full-access"]


def running(line: str, *, how: str = "CALL") -> str:
    return f"{how} exec_command {json.dumps({'cmd': line, 'yield_time_ms': 30_000})}"


def settings(home: Path, model: ModelServer) -> dict[str, Any]:
    return {
        "command": [program("codex")],
        "arguments": ANYTHING,
        "env": codex_env(home, model.openai_url),
        "home": str(home),
    }


class TestCodex(ProgramContract):
    factory = "errands.agents.command:CodexCli"

    def settings(self) -> Mapping[str, Any]:
        return settings(self.home, self.model)

    def running(self, line: str) -> str:
        return running(line)

    # `codex exec` asks for no approval: its commands run in a sandbox instead.
    test_a_refused_call_is_not_carried_out_and_the_agent_is_told = None  # type: ignore[assignment]
    test_a_held_call_goes_on_when_it_is_allowed = None  # type: ignore[assignment]


@pytest.fixture
def codex(model: ModelServer, tmp_path: Path) -> CodexCli:
    return CodexCli(settings(tmp_path / "home", model))


@pytest.mark.spec("S8", "S9", "S11", "S17")
async def test_a_conversation_of_the_person_is_forked(
    codex: CodexCli, model: ModelServer, tmp_path: Path
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    words = f"{running('seq 1 2000')}\nSAY marmalade for Codex"
    argv = [program("codex"), "exec", "--json", "--skip-git-repo-check", *ANYTHING, words]
    talk = ran(argv, cwd=project, env={"PATH": "/usr/bin:/bin", **codex_env(home, model.openai_url)})
    theirs = json.loads(talk.splitlines()[0])["thread_id"]
    (kept,) = home.rglob(f"*-{theirs}.jsonl")
    before = kept.read_bytes()

    context = desk_in(tmp_path, spec={"system": "You are a fork."})
    forked = await codex.fork(theirs, context)
    answer = await codex.prompt(forked, "RECALL", context)

    assert forked != theirs
    assert "marmalade for Codex" in answer.text
    asked = model.asked[-1].body["input"]
    (result,) = [each for each in asked if each["type"] == "function_call_output"]
    (call,) = [each for each in asked if each["type"] == "function_call"]
    assert call["name"] == "exec_command"
    assert result["call_id"] == call["call_id"]
    assert len(result["output"]) < LONGEST_RESULT + 100
    assert "[truncated: the first 1,500 of" in result["output"]
    system = [each for each in asked if each["type"] == "message" and each["role"] == "developer"]
    assert "You are a fork." in json.dumps(system)
    assert kept.read_bytes() == before


@pytest.mark.spec("S5", "S18")
async def test_a_session_that_codex_no_longer_has(codex: CodexCli, tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    session = await codex.open(context)
    await codex.prompt(session, "SAY hello", context)
    assert codex.knows(session)

    (kept,) = (tmp_path / "home").rglob(f"*-{session}.jsonl")
    kept.unlink()

    assert not codex.knows(session)
    with pytest.raises(SessionGone):
        await codex.prompt(session, "SAY again", desk_in(tmp_path, run="tested-222222.2"))
    with pytest.raises(SessionGone):
        await codex.fork("01a1e21d-0000-7000-8000-000000000000", context)


@pytest.mark.trap(61)
async def test_a_failing_model_is_no_answer(codex: CodexCli, tmp_path: Path) -> None:
    context = desk_in(tmp_path)
    session = await codex.open(context)
    with pytest.raises(AgentUnavailable, match="the model gave no answer"):
        await codex.prompt(session, "FAIL 500", context)
    again = await codex.prompt(session, "SAY here again", desk_in(tmp_path, run="tested-222222.2"))
    assert again.text == "here again"


async def test_tools_cannot_be_chosen(codex: CodexCli, tmp_path: Path) -> None:
    context = desk_in(tmp_path, spec={"tools": ("command",)})
    with pytest.raises(AgentError, match="Codex brings its own tools"):
        await codex.prompt(await codex.open(context), "SAY hello", context)
