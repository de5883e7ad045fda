"""The MCP server: a dialect's tools, and tasks, resources and prompts, served by the official SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.request_state import InvalidRequestState, RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, DiscoverResult, RequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from errands import __version__
from errands.frontends.mcp.calls import Calls
from errands.frontends.mcp.client import TASKS, Context
from errands.frontends.mcp.frontend import Frontend
from errands.frontends.mcp.prompts import Prompts
from errands.frontends.mcp.resources import Resources
from errands.frontends.mcp.subscriptions import Subscriptions
from errands.frontends.mcp.tasks import TaskParams, Tasks, UpdateParams
from errands.frontends.mcp.tools import Tools
from errands.model.errors import BadValue, ErrandsError, NotFound
from errands.ports.server_socket import secret

LARGEST = 4 * 1024 * 1024  # bytes of one message, whatever carries it
_INSTRUCTIONS = (
    "Runs slow work in the background. A task starts at once, survives this connection, and its state and "
    "output can be read later. Commands that could do harm wait for a person's approval; you cannot give it."
)


def make_server(frontend: Frontend) -> Server[Any]:
    """Build the server; it speaks the older and the newer protocol, over any transport."""
    calls = Calls(frontend)
    tools, tasks, resources, prompts = Tools(calls), Tasks(calls), Resources(frontend), Prompts(frontend)
    subscriptions = Subscriptions(frontend, tasks)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            subscriptions.close()
            calls.close()
            frontend.close()

    server: Server[Any] = Server(
        "errands",
        version=__version__,
        title="Errands",
        instructions=_INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=tools.listed,
        on_call_tool=tools.call,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
        on_subscribe_resource=subscriptions.subscribe,
        on_unsubscribe_resource=subscriptions.unsubscribe,
        on_subscriptions_listen=subscriptions.listen,
        on_list_prompts=prompts.list,
        on_get_prompt=prompts.get,
        on_completion=resources.complete,
    )
    server.add_request_handler("tasks/get", TaskParams, tasks.get)
    server.add_request_handler("tasks/update", UpdateParams, tasks.update)
    server.add_request_handler("tasks/cancel", TaskParams, tasks.cancel)
    server.extensions[TASKS] = {}

    async def discover(ctx: Context, params: RequestParams) -> DiscoverResult:
        """Return what is served; unlike resources, tools and prompts never change."""
        capabilities = server.get_capabilities(protocol_version=ctx.protocol_version)
        for each in (capabilities.tools, capabilities.prompts):
            if each is not None:
                each.list_changed = False
        return DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS),
            capabilities=capabilities,
            instructions=_INSTRUCTIONS,
        )

    server.add_request_handler("server/discover", RequestParams, discover)
    # Sealed with a key of this home, so that the next server can open it.
    security = RequestStateSecurity(codec=_Codec(frontend), ttl=24 * 3600.0)
    server.middleware += [_translate_errors, RequestStateBoundary(security, default_audience="errands")]
    return server


async def _translate_errors(ctx: Context, call_next: CallNext) -> HandlerResult:
    try:
        return await call_next(ctx)
    except (NotFound, BadValue) as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None
    except ErrandsError as error:
        raise MCPError(INTERNAL_ERROR, str(error)) from None


class _Codec:
    """Seals the state that a client carries for us; reads or creates the key on first use."""

    def __init__(self, frontend: Frontend) -> None:
        self._frontend = frontend
        self._codec: Any = None

    def seal(self, payload: bytes) -> str:
        sealed: str = self._open().seal(payload)
        return sealed

    def unseal(self, token: str) -> bytes:
        try:
            payload: bytes = self._open().unseal(token)
        except ErrandsError as error:
            raise InvalidRequestState(str(error)) from error
        return payload

    def _open(self) -> Any:
        if self._codec is None:
            from mcp.server.request_state import AESGCMRequestStateCodec

            self._codec = AESGCMRequestStateCodec([secret(self._frontend.engine.engine.home.mcp, "key")])
        return self._codec
