"""The tools of a task: all that there are, or those that its launch chose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset

from errands.agents.builtin.toolbox import toolbox
from errands.model.errors import BadValue
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

_PREFIX = "mcp_"  # so that no tool of a server has the name of one of ours


def chosen(context: AgentContext, settings: Mapping[str, Any]) -> AbstractToolset[None]:
    """Put the tools together. Those of a server are `mcp_SERVER_TOOL`; `mcp_SERVER` chooses all of them."""
    ours = toolbox(context, settings["home"])
    configured: Mapping[str, Any] = settings.get("mcp", {})
    wanted = context.spec.tools
    if wanted is None:
        return CombinedToolset([ours, *_served(configured, context.spec.cwd)])
    groups = {name: f"{_PREFIX}{name}" for name in configured}
    for name in wanted:
        if name not in ours.tools and not any(_is_in(name, group) for group in groups.values()):
            known = (*ours.tools, *groups.values())
            raise BadValue(
                f"there is no tool {name!r}{did_you_mean(name, known)}. There are: {', '.join(known)}"
            )
    needed = {
        name: server
        for name, server in configured.items()
        if any(_is_in(each, groups[name]) for each in wanted)
    }

    def is_wanted(_ctx: RunContext[None], tool: ToolDefinition) -> bool:
        whole = [each for each in wanted if each in groups.values()]
        return tool.name in wanted or any(_is_in(tool.name, group) for group in whole)

    return CombinedToolset([ours, *_served(needed, context.spec.cwd)]).filtered(is_wanted)


def _served(settings: Mapping[str, Any], cwd: str) -> Iterable[AbstractToolset[None]]:
    if not settings:
        return ()
    from errands.agents.builtin.servers import servers

    return servers(settings, prefix=_PREFIX, cwd=cwd)


def _is_in(tool: str, group: str) -> bool:
    return tool == group or tool.startswith(f"{group}_")
