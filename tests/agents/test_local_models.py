"""Models on this machine: their runs go to the lane of one, without a word in the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic_ai.models import KnownModelName

from errands.agents.builtin.models import has_provider, model
from errands.config.backends import REMOTE, lane_of
from errands.ports.home import Home
from errands.testing.engines import embedded


@pytest.mark.spec("L5", "R3")
@pytest.mark.parametrize(
    ("settings", "lane"),
    [
        ({"model": "qwen3"}, "local"),
        ({"model": "qwen3:8b"}, "local"),
        ({"model": "ollama:qwen3"}, "local"),
        ({"model": "anything", "url": "http://localhost:8080/v1"}, "local"),
        ({"model": "anything", "url": "http://[::1]:8080/v1"}, "local"),
        ({"model": "openai:gpt-5", "url": "http://127.0.0.1:4000"}, "local"),
        ({"model": "anything", "url": "https://models.example.org/v1"}, "agent"),
        ({"model": "anthropic:claude-sonnet-4-5"}, "agent"),
        ({"model": "gateway/openai:gpt-5"}, "agent"),
        ({"model": "qwen3:8b", "lane": "gpu"}, "gpu"),
        ({"model": "anthropic:claude-sonnet-4-5", "lane": "local"}, "local"),
        ({"backend": "command", "model": "qwen3"}, "agent"),
    ],
)
def test_the_lane_of_an_agent_follows_from_where_its_model_runs(settings: dict[str, Any], lane: str) -> None:
    assert lane_of("mine", {"mine": {"backend": "builtin", **settings}}) == lane


@pytest.mark.spec("R3")
def test_a_model_without_a_provider_and_an_address_is_one_of_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)
    assert model({"model": "qwen3"}).base_url == "http://127.0.0.1:11434/v1/"
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:9/v1")
    assert model({"model": "qwen3:8b"}).base_url == "http://127.0.0.1:9/v1/"


def test_every_provider_is_known() -> None:
    known = {each.partition(":")[0].partition("/")[0] for each in get_args(KnownModelName.__value__)}
    assert known - REMOTE <= {"test"}
    assert [each for each in REMOTE - {"gateway"} if not has_provider(f"{each}:model")] == []


@pytest.mark.spec("L5")
async def test_two_prompts_for_a_local_model_run_one_after_the_other(home: Home, config_file: Path) -> None:
    config_file.write_text('[agents.mine]\nbackend = "builtin"\nmodel = "qwen3:8b"\n')
    async with embedded(home.path) as engine:
        first, second = [await engine.ask("hello", agent="mine", at="+1h") for _ in range(2)]
        assert (first.lane, second.lane) == ("local", "local")
        assert engine.engine.config.lanes["local"] == 1
