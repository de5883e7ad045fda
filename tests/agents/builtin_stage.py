"""A stage for the built-in agent: a model that follows the prompt, a project, and a context that records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from errands.agents.builtin import Builtin
from errands.model.record import evolve
from errands.ports.agent import Answer
from errands.testing.agent_context import SPEC, RecordingContext
from tests.model_server import ModelServer


class Stage:
    def __init__(self, folder: Path, model: ModelServer) -> None:
        self.folder = folder
        self.model = model
        self.project = folder / "project"
        self.project.mkdir()
        self.context = self.sit_down()

    def sit_down(
        self, *, number: int = 1, spec: dict[str, Any] | None = None, **options: Any
    ) -> RecordingContext:
        """Return the context of a run."""
        self.context = RecordingContext(
            self.folder / "context",
            spec=evolve(SPEC, cwd=str(self.project), **(spec or {})),
            run=f"tested-222222.{number}",
            **options,
        )
        return self.context

    def agent(self, **settings: Any) -> Builtin:
        common = {"model": "fake", "url": self.model.openai_url, "pause": 0.001, "home": str(self.folder)}
        return Builtin({**common, **settings})

    async def ask(self, *lines: str, **settings: Any) -> Answer:
        """Send a prompt of several lines to the session of the context, which is opened if there is none."""
        agent = self.agent(**settings)
        if self.context.messages(self.context.session) is None:
            await agent.open(self.context)
        return await agent.prompt(self.context.session, "\n".join(lines), self.context)

    def results(self) -> list[str]:
        """Return the tool results in the newest request to the model."""
        return [each["content"] for each in self.model.asked[-1].body["messages"] if each["role"] == "tool"]


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    with ModelServer() as model:
        yield Stage(folder, model)


def call(tool: str, **arguments: Any) -> str:
    """Write the line that makes the model call a tool."""
    return f"CALL {tool} {json.dumps(arguments)}"
