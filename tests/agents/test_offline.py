"""The offline agent keeps the contract, and carries out what is quoted and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from errands.agents.offline import INTRODUCTION, commands
from errands.bootstrap import open_engine
from errands.model.options.draft import Draft
from errands.testing.contracts.agent import AgentContract

HEAVY = ("pydantic", "pydantic_ai", "pydantic_core", "httpx", "openai", "anthropic", "acp", "mcp")


class TestOffline(AgentContract):
    factory = "errands.agents.offline:Offline"
    recall = "what did I say?"
    counts_tokens = False

    def settings(self) -> dict[str, str]:
        return {}

    def running(self, line: str) -> str:
        return f"Please run `{line}` and tell me."

    @pytest.mark.spec("R5")
    async def test_it_says_that_it_is_not_a_language_model(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            answer = await agent.prompt(session, "how are you?", context)
            assert "not a language model" in answer.text
            assert context.asked == []

    @pytest.mark.spec("R5")
    async def test_commands_run_in_order_and_their_results_are_reported(self, tmp_path: Path) -> None:
        context = self.context(tmp_path)
        async with self.agent() as agent:
            session = await agent.open(context)
            answer = await agent.prompt(session, "First `echo one >x`, then `cat x; exit 3`.", context)
        assert answer.text == f"$ echo one >x\n\n$ cat x; exit 3\none\n(exit code 3)\n\n{INTRODUCTION}"
        assert answer.usage == {"tool_calls": 2}


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
        check=True,
    )
    assert INTRODUCTION in ran.stdout
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if "|" in line}
    assert "errands.agents.offline" in loaded
    assert [name for name in sorted(loaded) if name.partition(".")[0] in HEAVY] == []
    engine.close()
