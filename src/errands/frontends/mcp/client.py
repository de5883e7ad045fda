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

from errands.model.record import record
from errands.model.text.sanitise import line

TASKS = "io.modelcontextprotocol/tasks"
MESSAGE = "errands/message"  # in _meta: the conversation turn, whose launches form a batch
CLAUDE_CALL = "claudecode/toolUseId"  # in _meta: the id of a call in the conversation of Claude Code
_LONGEST_NAME = 60
_LONGEST_ID = 200

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
        self._meta: Mapping[str, Any] = meta if isinstance(meta, Mapping) else {}
        self.message = self._text(MESSAGE)[:_LONGEST_NAME] or None
        peer = ctx.request.client if ctx.request is not None else None
        self.peer: tuple[str, int] | None = None if peer is None else (peer.host, peer.port)
        self.headers: dict[str, str] = dict(ctx.request.headers) if ctx.request is not None else {}

    @property
    def place(self) -> CodexPlace | None:
        """Where in a conversation of Codex a call was made; it says so with calls, and with nothing else."""
        thread, turn = self._text("threadId"), self._meta.get("x-codex-turn-metadata")
        if not thread:
            return None
        return CodexPlace(
            session=self._text("sessionId") or thread,
            thread=thread,
            turn=_short(turn.get("turn_id")) if isinstance(turn, Mapping) else "",
            call=self._text("callId"),
        )

    @property
    def claude_call(self) -> str:
        return self._text(CLAUDE_CALL)

    def _text(self, name: str) -> str:
        return _short(self._meta.get(name))


@record
class CodexPlace:
    """A conversation of Codex has one session, and a thread for the main agent and for each subagent."""

    session: str
    thread: str
    turn: str
    call: str


def _short(value: Any) -> str:
    return value[:_LONGEST_ID] if isinstance(value, str) else ""


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
