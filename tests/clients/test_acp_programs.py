"""The contract of an agent, kept by real programs: OpenCode and Claude Code, with a model for tests.

Starting such a program takes seconds, so all tests of one share a process; where a test wants another process
it gets a new one, as after a crash.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from errands.agents.acp import Acp
from errands.model.errors import AgentUnavailable
from errands.testing.contracts.agent import AgentContract
from tests.clients.programs import PLACE as BIN
from tests.clients.programs import have_types, program
from tests.model_server import ModelServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import Agent


@pytest.mark.asyncio(loop_scope="class")
class Program(AgentContract):
    factory = "errands.agents.acp:Acp"
    recall = "RECALL"
    soon = 60.0
    tool: str
    folder: Path
    model: ModelServer
    shared: Agent

    @pytest_asyncio.fixture(scope="class", loop_scope="class", autouse=True)
    @classmethod
    async def _program(cls, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[None]:
        for name in ("opencode", "claude", "claude-agent-acp", "node"):
            program(name)
        cls.folder = tmp_path_factory.mktemp("program")
        with ModelServer() as cls.model:
            cls.shared = cls().make()
            yield
            await cls.shared.close()

    @pytest.fixture(autouse=True)
    def _unused(self) -> None:
        self._is_first = True

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[Agent]:
        if self._is_first:
            self._is_first = False
            yield self.shared
        else:
            async with super().agent() as other:
                yield other

    def running(self, line: str) -> str:
        return f"CALL {self.tool} {json.dumps({'command': line, 'description': 'Prove the contract'})}"

    def requests(self) -> int | None:
        return len(self.model.asked)

    @pytest.mark.fault("F47")
    async def test_a_broken_model_is_never_an_answer(self, tmp_path: Path) -> None:
        """These programs try again for a long time, without a word; our patience ends before."""
        context = self.context(tmp_path)
        before = len(self.model.asked)
        agent = Acp({**self.settings(), "patience": 4})
        try:
            session = await agent.open(context)
            with pytest.raises(AgentUnavailable, match="silent for 4 s"):
                await agent.prompt(session, "FAIL 500", context)
        finally:
            await agent.close()
        assert len(self.model.asked) - before > 1

    def surroundings(self) -> dict[str, str]:
        """An empty home, and none of our own settings."""
        return {
            "HOME": str(self.folder),
            **{f"XDG_{each}_HOME": str(self.folder / each) for each in ("DATA", "CONFIG", "STATE", "CACHE")},
        }


@pytest.mark.spec("S13")
class TestOpenCode(Program):
    tool = "bash"

    def settings(self) -> Mapping[str, Any]:
        configuration = {
            "model": "fake/fake",
            "small_model": "fake/fake",
            "autoupdate": False,
            "share": "disabled",
            "permission": {"bash": "ask", "edit": "ask"},
            "provider": {
                "fake": {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "Fake",
                    "options": {"baseURL": self.model.openai_url, "apiKey": "dummy"},
                    "models": {"fake": {"name": "fake", "limit": {"context": 100000, "output": 4000}}},
                }
            },
        }
        path = self.folder / "opencode.json"
        path.write_text(json.dumps(configuration))
        have_types(self.folder / "CONFIG" / "opencode")
        return {
            "command": [str(BIN / "opencode"), "acp"],
            "env": {
                **self.surroundings(),
                "OPENCODE_CONFIG": str(path),
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            },
        }


@pytest.mark.spec("S13")
class TestClaudeCode(Program):
    tool = "Bash"

    def settings(self) -> Mapping[str, Any]:
        return {
            "command": [str(BIN / "node"), str(BIN / "claude-agent-acp")],
            "env": {
                **self.surroundings(),
                "ANTHROPIC_BASE_URL": self.model.url,
                "ANTHROPIC_API_KEY": "dummy",
                "CLAUDE_CODE_EXECUTABLE": os.path.realpath(BIN / "claude"),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
            },
            # Without this the adapter refuses to start for root.
            "meta": {"claudeCode": {"options": {"allowDangerouslySkipPermissions": False}}},
        }
