"""A client: who is at the other end of a request, and what it says that it can do.

In the newer protocol every request says so anew; in the older one it was said once, by `initialize`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from errands.model.text.sanitise import line

TASKS = "io.modelcontextprotocol/tasks"
MESSAGE = "errands/message"  # in _meta: the turn of the conversation, whose launches are a batch
_LONGEST_NAME = 60

Context = ServerRequestContext[Any, Any]


class Client:
    def __init__(self, ctx: Context) -> None:
        named, said = ctx.session.client_params, ctx.session.client_capabilities
        self.name = line((named.client_info.name if named else "")[:_LONGEST_NAME]) or "mcp"
        self.is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        asking = said.elicitation if said else None
        # A client that names no mode means forms, as there were once no others.
        self.can_elicit = asking is not None and (asking.form is not None or asking.url is None)
        extensions = (said.extensions if said else None) or {}
        self.has_tasks = self.is_modern and extensions.get(TASKS) is not None
        turn = (ctx.params or {}).get("_meta")
        said_turn = turn.get(MESSAGE) if isinstance(turn, Mapping) else None
        self.message = said_turn[:_LONGEST_NAME] if isinstance(said_turn, str) and said_turn else None
        self.headers: dict[str, str] = dict(ctx.request.headers) if ctx.request is not None else {}


def require_tasks(ctx: Context) -> Client:
    """Refuse whoever did not say that it knows tasks."""
    client = Client(ctx)
    if not client.is_modern:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
    if not client.has_tasks:
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"this needs a client that declares the extension {TASKS}",
            {"requiredCapabilities": {"extensions": {TASKS: {}}}},
        )
    return client
