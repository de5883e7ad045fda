"""The real Claude Code as an agent: it keeps the contract, and what is special about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from errands.testing.contracts.agent import AgentContract
from errands.testing.model_server import ModelServer
from tests.real.programs import claude_env, program


class TestClaudeCode(AgentContract):
    factory = "errands.agents.command:Command"
    recall = "RECALL"

    @pytest.fixture(autouse=True)
    def _surroundings(self, model: ModelServer, tmp_path: Path) -> None:
        self.model, self.home = model, tmp_path / "home"

    def settings(self) -> Mapping[str, Any]:
        return {
            "preset": "claude",
            "command": [program("claude")],
            "arguments": ["--model", "claude-fake"],
            "env": claude_env(self.home, self.model.url),
            "home": str(self.home),
            "retries": 1,
        }

    def running(self, line: str) -> str:
        return f"CALL Bash {json.dumps({'command': line})}"

    def requests(self) -> int:
        return len(self.model.asked)
