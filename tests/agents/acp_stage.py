"""A stage for agents that speak the Agent Client Protocol: a project, a context, and an obedient agent."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from errands.agents.acp import Acp
from errands.model.record import evolve
from errands.ports.agent import Decision, ToolCall
from errands.testing.agent_context import SPEC, RecordingContext, yes

ROOT = Path(__file__).parents[2]
ALL = ("load", "resume", "fork", "close")


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.home = folder / "agent"
        self.project.mkdir()
        self.home.mkdir()

    def context(
        self, *, run: str = "tested-222222.1", decide: Callable[[ToolCall], Decision] = yes, **options: Any
    ) -> RecordingContext:
        spec = evolve(SPEC, cwd=str(self.project), **{"system": "", **options})
        return RecordingContext(self.folder / "context", spec=spec, run=run, decide=decide)

    @asynccontextmanager
    async def agent(self, *can: str, **settings: Any) -> AsyncIterator[Acp]:
        command = [sys.executable, "-m", "tests.agents.acp_agent", str(self.home), *(can or ALL)]
        agent = Acp({"command": command, "env": {"PYTHONPATH": f"{ROOT}/src:{ROOT}"}, **settings})
        try:
            yield agent
        finally:
            await agent.close()

    async def says(
        self, text: str, *can: str, context: RecordingContext | None = None, **settings: Any
    ) -> str:
        """Send one prompt in a session of its own; give the answer."""
        context = context or self.context()
        async with self.agent(*can, **settings) as agent:
            return (await agent.prompt(await agent.open(context), text, context)).text

    def prompts(self) -> list[str]:
        return [json.loads(line) for line in (self.home / "prompts").read_text().splitlines()]
