"""The contract of an agent, kept with the protocols and abilities that `tests/agents` leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.agents import test_acp_contract as acp
from tests.agents import test_builtin_contract as builtin


@pytest.mark.spec("S13")
class TestOllama(builtin.Obedient):
    def settings(self) -> Mapping[str, Any]:
        return {"model": "ollama:fake", "url": self.model.openai_url, "home": str(self.home)}


@pytest.mark.spec("S13")
class TestAnthropic(builtin.Obedient):
    def settings(self) -> Mapping[str, Any]:
        return {"model": "anthropic:fake", "url": self.model.url, "home": str(self.home)}


@pytest.mark.spec("S13")
class TestAcpAgentThatLoadsOnly(acp.Obedient):
    can = ("load",)
