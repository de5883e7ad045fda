"""A stage for agents: real pydantic-ai, a model that follows a script, and an engine of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import DeferredToolRequests

Call = tuple[str, dict[str, Any]]
DONE = "done"


class Script:
    """A model that makes one call after the other, then ends; `heard` are the user messages it got."""

    def __init__(self, *calls: Call) -> None:
        self.calls = calls
        self.heard: list[str] = []
        self.results: list[Any] = []
        self.offered: dict[str, str] = {}

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self._answer)

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.offered = {each.name: each.description or "" for each in info.function_tools}
        self.results = list(parts(messages, ToolReturnPart))
        self.heard = [str(each.content) for each in parts(messages, UserPromptPart)]
        if len(self.results) < len(self.calls):
            name, arguments = self.calls[len(self.results)]
            return ModelResponse(parts=[ToolCallPart(name, arguments, tool_call_id=f"c{len(self.results)}")])
        return ModelResponse(parts=[TextPart(DONE)])

    def agent(self, **options: Any) -> Agent[None, str | DeferredToolRequests]:
        return Agent(self.model, output_type=[str, DeferredToolRequests], name="tested", **options)


def parts(messages: Sequence[ModelMessage], kind: type[Any]) -> list[Any]:
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, kind)
    ]
