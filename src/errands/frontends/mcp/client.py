"""A client: the program at the other end of a request, and the capabilities it declares.

In the newer protocol every request declares them; in the older one `initialize` did, once.
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
MESSAGE = "errands/message"  # in _meta: the conversation turn, whose launches form a batch
_LONGEST_NAME = 60

Context = ServerRequestContext[Any, Any]


class Client:
    def __init__(self, ctx: Context) -> None:
        params, capabilities = ctx.session.client_params, ctx.session.client_capabilities
        self.name = line((params.client_info.name if params else "")[:_LONGEST_NAME]) or "mcp"
        self.is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        elicitation = capabilities.elicitation if capabilities else None
        # A client that names no mode means forms, which were once the only mode.
        self.can_elicit = elicitation is not None and (
            elicitation.form is not None or elicitation.url is None
        )
        extensions = (capabilities.extensions if capabilities else None) or {}
        self.has_tasks = self.is_modern and extensions.get(TASKS) is not None
        meta = (ctx.params or {}).get("_meta")
        turn = meta.get(MESSAGE) if isinstance(meta, Mapping) else None
        self.message = turn[:_LONGEST_NAME] if isinstance(turn, str) and turn else None
        self.headers: dict[str, str] = dict(ctx.request.headers) if ctx.request is not None else {}


def require_tasks(ctx: Context) -> Client:
    """Return the client, or refuse it if it does not declare the tasks extension."""
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
