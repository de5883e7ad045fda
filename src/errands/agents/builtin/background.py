"""The background tools of a conversation, as tools of the built-in agent."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext, BackgroundTools

INSTRUCTIONS = (
    "Do not keep the person waiting. What may take more than a few seconds (tests, builds, downloads, "
    "research) belongs in the background: start it there with your tools for background tasks, say so, and "
    "go on or end your answer; when you are not sure, offer it. `command` is only for what ends at once. You "
    "are told how each task ended before a later message, so do not poll, and wait for a task only if the "
    "person wants its result in this very answer. Quote the result when you use it. Suggest work that "
    "they did not ask for with `propose`, so that they decide. A task that needs "
    "approval waits until the person answers; you cannot answer for them."
)
# The dialect checks the arguments; here they only need names.
_NAMED = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))


class BackgroundToolset(AbstractToolset[None]):
    def __init__(self, background: BackgroundTools) -> None:
        self._background = background

    @property
    def id(self) -> str:
        return "background"

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters),
                ),
                max_retries=1,
                args_validator=_NAMED,
            )
            for tool in self._background.tools
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> str:
        assert ctx.tool_call_id is not None
        reply = await self._background.call(ctx.tool_call_id, name, tool_args)
        if reply.failed:
            raise ToolFailed(reply.text)
        return reply.text


def names(context: AgentContext) -> frozenset[str]:
    """Return the names of the background tools that an agent is offered."""
    return frozenset(tool.name for tool in context.background.tools) if context.background else frozenset()
