"""The offline agent keeps the contract, and carries out what is quoted and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from errands.agents.offline import INTRODUCTION, commands
from errands.bootstrap import open_engine
from errands.model.errors import AgentError
from errands.model.options.draft import Draft
from errands.testing.agent_context import RecordingContext
from errands.testing.contracts.agent import AgentContract

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import Agent

HEAVY = ("pydantic", "pydantic_ai", "pydantic_core", "httpx", "openai", "anthropic", "acp", "mcp")


class TestOffline(AgentContract):
    factory = "errands.agents.offline:Offline"
    counts_tokens = False

    async def recalled(self, agent: Agent, session: str, context: RecordingContext) -> str:
        """It cannot talk about a conversation; what the next prompt sees is what is stored."""
        return "\n".join(context.messages(session) or ())

    def settings(self) -> dict[str, str]:
        return {}

    def running(self, line: str) -> str:
        return f"Please run `{line}` and tell me."

    @pytest.mark.spec("R6")
    async def test_a_prompt_without_a_command_fails_and_says_what_to_do(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            with pytest.raises(AgentError) as refused:
                await agent.prompt(session, "how are you?", context)
        assert "no model is set up" in str(refused.value)
        assert "errands agents setup" in str(refused.value)
        assert refused.value.partial == ""
        assert context.asked == []

    @pytest.mark.spec("R5")
    async def test_commands_run_in_order_and_their_results_are_reported(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            answer = await agent.prompt(session, "First `echo one >x`, then `cat x; exit 3`.", context)
        assert answer.text == f"$ echo one >x\n\n$ cat x; exit 3\none\n(exit code 3)\n\n{INTRODUCTION}"
        assert answer.usage == {"tool_calls": 2}
        assert "not a language model" in answer.text


@pytest.mark.spec("R5")
@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("run `make test` please", ["make test"]),
        ("`a` and then `b`", ["a", "b"]),
        ("```sh\nfor i in 1 2; do\n  echo $i\ndone\n```", ["for i in 1 2; do\n  echo $i\ndone"]),
        ("first `a`\n```\nb\n```\nthen `c`", ["a", "b", "c"]),
        ("``echo `date` ``", ["echo `date`"]),
        ('run "make test", then "make lint".', ["make test", "make lint"]),
        ("run 'make test' now", ["make test"]),
        ("don't do what isn't quoted", []),
        ('run `echo "hi"`', ['echo "hi"']),
        ("", []),
        ("``", []),
        ("` `", []),
    ],
)
def test_commands_are_found_by_their_quotes(prompt: str, found: list[str]) -> None:
    assert commands(prompt) == found


@pytest.mark.spec("R5")
def test_its_process_loads_nothing_that_only_other_agents_need() -> None:
    engine = open_engine()
    task = engine.submit(Draft(prompt="hello", agent="offline"))
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "errands.agents"],
        env={**os.environ, "ERRANDS_RUN_ID": task.latest.id},
        capture_output=True,
        text=True,
        check=False,
    )
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if "|" in line}
    assert "errands.agents.offline" in loaded
    assert [name for name in sorted(loaded) if name.partition(".")[0] in HEAVY] == []
    engine.close()
