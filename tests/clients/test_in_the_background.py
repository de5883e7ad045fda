"""Prompts for the real programs, through the whole engine: asked, resumed and forked in the background."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from errands.model.agent.fork import PREAMBLE
from errands.model.view import View
from errands.testing.engines import WITHIN, embedded, until
from tests.clients.programs import claude_env, program
from tests.model_server import ModelServer

AGENTS = """
[agents.claude]
backend = "command"
preset = "claude"
command = {command}
model = "claude-fake"
env = {{ {env} }}
retries = 1

[agents.opencode]
url = {url}
poll = 1.0
retries = 1
"""


@pytest.fixture
def configured(model: ModelServer, opencode: str, tmp_path: Path) -> Path:
    """Configure both agents; return the directory of a project."""
    env = claude_env(tmp_path / "claude", model.url)
    text = AGENTS.format(
        command=json.dumps([program("claude")]),
        env=", ".join(f"{name} = {json.dumps(value)}" for name, value in env.items()),
        url=json.dumps(opencode),
    )
    place = Path(os.environ["XDG_CONFIG_HOME"]) / "errands" / "config.toml"
    place.parent.mkdir(parents=True)
    place.write_text(text)
    project = tmp_path / "project"
    project.mkdir()
    return project


@pytest.mark.spec("S2", "S3", "S8", "S13", "O11")
@pytest.mark.parametrize("agent", ["claude", "opencode"])
async def test_a_prompt_is_answered_resumed_and_forked(
    configured: Path, own_home: Path, model: ModelServer, agent: str
) -> None:
    async with embedded(str(own_home)) as engine:
        asked = await engine.ask("SAY marmalade", agent=agent, cwd=str(configured))
        first = await engine.wait(asked.id, timeout=WITHIN * 2)
        await engine.resume(asked.id, "RECALL")
        second = await engine.wait(asked.id, timeout=WITHIN * 2)
        before_fork = len(model.asked)
        forked = await engine.ask("RECALL", agent=agent, cwd=str(configured), fork=asked.id)
        third = await engine.wait(forked.id, timeout=WITHIN * 2)

        assert [each.state for each in (first, second, third)] == ["completed"] * 3
        assert [_said(each) for each in (first, second)] == ["marmalade", "SAY marmalade\nmarmalade"]
        assert "marmalade" in _said(third)
        prompted = [each.text for each in model.asked[before_fork:] if each.prompt == "RECALL"]
        assert prompted
        assert all(PREAMBLE in each for each in prompted)
        assert second.agent is not None
        assert second.agent.resume_count == 1
        assert second.agent.usage["input_tokens"] > 0


@pytest.mark.spec("S1", "O14")
@pytest.mark.parametrize("agent", ["claude", "opencode"])
async def test_a_cleared_task_takes_its_session_along(
    configured: Path, own_home: Path, tmp_path: Path, opencode: str, agent: str
) -> None:
    def is_kept(session: str) -> bool:
        if agent == "claude":
            return any((tmp_path / "claude").rglob(f"{session}.jsonl"))
        try:
            with urllib.request.urlopen(f"{opencode}/session/{session}", timeout=10):
                return True
        except urllib.error.HTTPError as error:
            return error.code != 404

    async with embedded(str(own_home)) as engine:
        asked = await engine.ask("SAY marmalade", agent=agent, cwd=str(configured))
        await engine.wait(asked.id, timeout=WITHIN * 2)
        session = ((await engine.get(asked.id)).details or {})["session"]
        assert is_kept(session)
        await engine.clear(asked.id)
        await until(lambda: not is_kept(session))


@pytest.mark.spec("S3")
@pytest.mark.fault("F47")
@pytest.mark.trap(61)
@pytest.mark.parametrize("agent", ["claude", "opencode"])
async def test_a_model_that_fails_is_a_failed_run_and_the_session_stays(
    configured: Path, own_home: Path, agent: str
) -> None:
    async with embedded(str(own_home)) as engine:
        asked = await engine.ask("SAY marmalade", agent=agent, cwd=str(configured))
        await engine.wait(asked.id, timeout=WITHIN * 2)
        await engine.resume(asked.id, "FAIL 500")
        failed = await engine.wait(asked.id, timeout=WITHIN * 2)

        await engine.resume(asked.id, "RECALL marmalade")
        again = await engine.wait(asked.id, timeout=WITHIN * 2)

        assert (failed.latest.state, failed.latest.failure) == ("failed", "agent")
        assert "the model g" in (failed.latest.error or "")
        assert (again.state, _said(again)) == ("completed", "recalled")


def _said(view: View) -> str:
    assert view.agent is not None
    return view.agent.answer or ""
