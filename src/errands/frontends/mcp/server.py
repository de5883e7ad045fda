"""The server: a dialect's tools, its tasks, resources and prompts, as the official SDK serves them."""

from __future__ import annotations

import os
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
from errands.frontends.mcp.door import Door
from errands.frontends.mcp.prompts import Prompts
from errands.frontends.mcp.resources import Resources
from errands.frontends.mcp.subscriptions import Subscriptions
from errands.frontends.mcp.tasks import TaskParams, Tasks, UpdateParams
from errands.frontends.mcp.tools import Tools
from errands.model.errors import BadValue, ErrandsError, NotFound

LARGEST = 4 * 1024 * 1024  # bytes of one message, whatever carries it
_INSTRUCTIONS = (
    "Runs slow work in the background: it starts at once, survives this connection, and is listed with its "
    "output afterwards. What could do harm waits for a person's approval, which you cannot give."
)


def make_server(door: Door) -> Server[Any]:
    """Put the server together; it serves both eras of the protocol, over whatever carries messages to it."""
    calls = Calls(door)
    tools, tasks, resources, prompts = Tools(calls), Tasks(calls), Resources(door), Prompts(door)
    watching = Subscriptions(door, tasks)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            watching.close()
            calls.close()
            door.close()

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
        on_subscribe_resource=watching.subscribe,
        on_unsubscribe_resource=watching.unsubscribe,
        on_subscriptions_listen=watching.listen,
        on_list_prompts=prompts.list,
        on_get_prompt=prompts.get,
        on_completion=resources.complete,
    )
    server.add_request_handler("tasks/get", TaskParams, tasks.get)
    server.add_request_handler("tasks/update", UpdateParams, tasks.update)
    server.add_request_handler("tasks/cancel", TaskParams, tasks.cancel)
    server.extensions[TASKS] = {}

    async def discover(ctx: Context, params: RequestParams) -> DiscoverResult:
        """Say what is served; unlike the resources, tools and prompts never change."""
        said = server.get_capabilities(protocol_version=ctx.protocol_version)
        for each in (said.tools, said.prompts):
            if each is not None:
                each.list_changed = False
        return DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS), capabilities=said, instructions=_INSTRUCTIONS
        )

    server.add_request_handler("server/discover", RequestParams, discover)
    server.middleware += [_explained, RequestStateBoundary(_sealing(door), default_audience="errands")]
    return server


async def _explained(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Tell a client what it got wrong in our words; anything else is ours to look into."""
    try:
        return await call_next(ctx)
    except (NotFound, BadValue) as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None
    except ErrandsError as error:
        raise MCPError(INTERNAL_ERROR, str(error)) from None


def _sealing(door: Door) -> RequestStateSecurity:
    """Seal what a client carries for us with a key of this home, so that the next server can open it."""
    return RequestStateSecurity(codec=_Codec(door), ttl=24 * 3600.0)


class _Codec:
    """Reads or makes the key when something is sealed for the first time."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._codec: Any = None

    def seal(self, payload: bytes) -> str:
        sealed: str = self._opened().seal(payload)
        return sealed

    def unseal(self, token: str) -> bytes:
        try:
            payload: bytes = self._opened().unseal(token)
        except ErrandsError as error:
            raise InvalidRequestState(str(error)) from error
        return payload

    def _opened(self) -> Any:
        if self._codec is None:
            from mcp.server.request_state import AESGCMRequestStateCodec

            self._codec = AESGCMRequestStateCodec([secret(self._door, "key")])
        return self._codec


def secret(door: Door, name: str) -> str:
    """Read a secret of this home, or make it; whoever can read it owns the home anyway."""
    directory = os.path.join(door.engine.engine.home.path, "mcp")
    path = os.path.join(directory, name)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    while True:
        try:
            with open(path, encoding="ascii") as file:
                text = file.read().strip()
            if len(text) < 32:
                raise ErrandsError(f"{path} holds no secret; remove it, and another one is made")
            return text
        except FileNotFoundError:
            _make_secret(path)


def _make_secret(path: str) -> None:
    import secrets

    draft = f"{path}.{secrets.token_hex(4)}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(32))
    try:
        os.link(draft, path)  # of two at once, one wins whole
    except FileExistsError:
        pass
    finally:
        os.unlink(draft)
