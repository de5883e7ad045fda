"""MCP servers: programs and addresses from the configuration whose tools the agent may use, when allowed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_ai.toolsets import AbstractToolset

from errands.model.agent_errors import AgentError

PREFIX = "mcp_"  # so that no tool of a server has the name of one of ours
_START = 30.0  # seconds that a server may take until it is ready


def servers(settings: Mapping[str, Mapping[str, Any]], cwd: str) -> Iterator[AbstractToolset[None]]:
    """Give a toolset for each server; its tools are called `mcp_SERVER_TOOL`.

    A server is a `command` (words or a line) with an `env` of its own, or a `url` with `headers`.
    """
    if not settings:
        return
    # Only here: they take as long to load as all the rest.
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    for name, server in settings.items():
        if command := server.get("command"):
            program, *words = shlex.split(command) if isinstance(command, str) else command
            transport = StdioTransport(
                program, words, env=dict(server.get("env", {})), cwd=cwd, keep_alive=False
            )
            made: MCPToolset[None] = MCPToolset(
                transport, id=name, tool_error_behavior="failed", init_timeout=_START
            )
        elif url := server.get("url"):
            made = MCPToolset(
                url,
                id=name,
                headers=dict(server.get("headers", {})),
                tool_error_behavior="failed",
                init_timeout=_START,
            )
        else:
            raise AgentError(f"the MCP server {name!r} has neither a command nor a url")
        yield made.prefixed(f"{PREFIX}{name}")
