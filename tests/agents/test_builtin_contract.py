"""The contract of an agent, kept by the built-in one; `tests/long` has the other protocols of models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from errands.testing.contracts.agent import AgentContract
from tests.model_server import ModelServer


class Obedient(AgentContract):
    factory = "errands.agents.builtin:Builtin"
    recall = "RECALL"
    model: ModelServer
    home: Path

    @pytest.fixture(autouse=True)
    def _served(self, tmp_path: Path) -> Iterator[None]:
        self.home = tmp_path / "home"
        self.home.mkdir()
        with ModelServer() as self.model:
            yield

    def running(self, line: str) -> str:
        return f"CALL command {json.dumps({'line': line})}"

    def requests(self) -> int | None:
        return len(self.model.asked)


@pytest.mark.spec("S13")
class TestOpenAI(Obedient):
    def settings(self) -> Mapping[str, Any]:
        return {"model": "fake", "url": self.model.openai_url, "home": str(self.home)}
