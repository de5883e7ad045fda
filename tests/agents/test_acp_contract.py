"""The contract of an agent, kept by agents that speak the Agent Client Protocol: one can do all, one nothing.

`tests/long` has one between the two.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from errands.testing.contracts.agent import AgentContract

ROOT = Path(__file__).parents[2]


class Obedient(AgentContract):
    factory = "errands.agents.acp:Acp"
    recall = "RECALL"
    can: tuple[str, ...]

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "agent"
        self.folder.mkdir()

    def settings(self) -> Mapping[str, Any]:
        command = [sys.executable, "-m", "tests.agents.acp_agent", str(self.folder), *self.can]
        return {"command": command, "env": {"PYTHONPATH": f"{ROOT}/src:{ROOT}"}}

    def running(self, line: str) -> str:
        return f"RUN {line}"

    def requests(self) -> int | None:
        prompts = self.folder / "prompts"
        return len(prompts.read_text().splitlines()) if prompts.exists() else 0


@pytest.mark.spec("S13")
class TestAgentThatCanDoAll(Obedient):
    can = ("load", "resume", "fork", "close")


@pytest.mark.spec("S13")
class TestAgentThatRemembersNothing(Obedient):
    can = ()
