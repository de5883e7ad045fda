"""MCP servers: configured programs and addresses whose tools the agent may use, with approval.

Import this only if there are some: their library takes as long to load as everything else.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from fastmcp.client.transports import StdioTransport
from mcp import MCPError
from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from errands.config.secret import with_secret
from errands.model.errors import AgentError, BadValue

# A server gets few variables of ours, but one that uses Errands must find the same home and say whose it is.
_PASSED_ON = ("ERRANDS_HOME", "ERRANDS_RUN_ID", "ERRANDS_TASK_ID", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
_START = 30.0  # seconds that a server may take until it is ready
_TROUBLE = (MCPError, OSError, RuntimeError, TimeoutError)


@dataclass
class Server(WrapperToolset[None]):
    """The tools of one server, which may fail to start or end early."""

    name: str

    async def __aenter__(self) -> Self:
        try:
            return await super().__aenter__()
        except _TROUBLE as error:
            raise AgentError(f"the MCP server {self.name!r} cannot be used: {error}") from error

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> Any:
        try:
            return await super().call_tool(name, tool_args, ctx, tool)
        except _TROUBLE as error:
            raise ToolFailed(f"The MCP server {self.name!r} did not answer: {error}") from error


def servers(
    settings: Mapping[str, Mapping[str, Any]], *, prefix: str, cwd: str
) -> Iterator[AbstractToolset[None]]:
    """Yield a toolset for each server; names of tools begin with the prefix and the server's name.

    A server is a `command` (words or a line) with its own `env`, or a `url` with `headers`, each of which may
    end with the place of a secret.
    """
    for name, server in settings.items():
        yield Server(_toolset(name, server, cwd), name=name).prefixed(f"{prefix}{name}")


def _toolset(name: str, server: Mapping[str, Any], cwd: str) -> MCPToolset[None]:
    if command := server.get("command"):
        program, *words = shlex.split(command) if isinstance(command, str) else command
        env = {**_inherited(), **server.get("env", {})}
        transport = StdioTransport(program, words, env=env, cwd=cwd, keep_alive=False)
        return MCPToolset(transport, id=name, tool_error_behavior="failed", init_timeout=_START)
    if url := server.get("url"):
        try:
            headers = {key: with_secret(value) for key, value in server.get("headers", {}).items()}
        except BadValue as error:
            raise AgentError(f"a header of the MCP server {name!r}: {error}") from error
        return MCPToolset(url, id=name, headers=headers, tool_error_behavior="failed", init_timeout=_START)
    raise BadValue(f"the MCP server {name!r} has neither a command nor a url")


def _inherited() -> dict[str, str]:
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
