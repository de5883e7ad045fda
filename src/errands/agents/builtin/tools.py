"""The tools of a task: all that there are, or those that its launch chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset

from errands.agents.builtin.servers import PREFIX, servers
from errands.agents.builtin.toolbox import toolbox
from errands.model.agent_errors import AgentError
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import Desk


def chosen(desk: Desk, settings: Mapping[str, Any]) -> AbstractToolset[None]:
    """Put the tools together. `mcp_SERVER` chooses all tools of a server."""
    ours = toolbox(desk, settings["home"])
    configured: Mapping[str, Any] = settings.get("mcp", {})
    wanted = desk.spec.tools
    if wanted is None:
        return CombinedToolset([ours, *servers(configured, desk.spec.cwd)])
    groups = [f"{PREFIX}{name}" for name in configured]
    for name in wanted:
        if name not in ours.tools and not any(f"{name}_".startswith(f"{group}_") for group in groups):
            known = (*ours.tools, *groups)
            raise AgentError(
                f"there is no tool {name!r}{did_you_mean(name, known)}. There are: {', '.join(known)}"
            )
    needed = {
        name: server
        for name, server in configured.items()
        if any(f"{each}_".startswith(f"{PREFIX}{name}_") for each in wanted)
    }
    everything = CombinedToolset([ours, *servers(needed, desk.spec.cwd)])

    def is_wanted(_ctx: RunContext[None], tool: ToolDefinition) -> bool:
        groups = [f"{PREFIX}{name}" for name in needed]
        return tool.name in wanted or any(
            group in wanted and tool.name.startswith(f"{group}_") for group in groups
        )

    return everything.filtered(is_wanted)
