"""The real OpenCode as an agent: it keeps the contract, and what is special about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from errands.testing.contracts.agent import AgentContract
from errands.testing.model_server import ModelServer


class TestOpenCode(AgentContract):
    factory = "errands.agents.opencode:OpenCode"
    recall = "RECALL"

    @pytest.fixture(autouse=True)
    def _surroundings(self, model: ModelServer, opencode: str) -> None:
        self.model, self.url = model, opencode

    def settings(self) -> Mapping[str, Any]:
        return {"url": self.url, "retries": 1, "poll": 1.0}

    def running(self, line: str) -> str:
        return f"CALL bash {json.dumps({'command': line, 'description': 'a test'})}"

    def requests(self) -> int:
        return len(self.model.asked)
