"""The streamable HTTP transport: on this machine only, for clients that have the token.

Requests for another host name are refused, so a web page cannot get in by DNS rebinding.
"""

from __future__ import annotations

import asyncio
import hmac
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from errands.ports.listening import host_names, listening

PATH = "/mcp"
DEFAULT = ("127.0.0.1", 7878)
MOST = 200  # connections at the same time
HEAD_WITHIN = 5.0  # seconds

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def make_app(server: Server[Any], host: str, port: int, token: str | None, largest: int) -> App:
    """Return the ASGI application; without a token it is open to every client that can reach it."""
    hosts = host_names(host, port)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        host=host,
        max_request_body_size=largest,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{each}" for each in hosts]
        ),
    )
    return app if token is None else _require_token(app, token)


async def serve(server: Server[Any], host: str, port: int, token: Callable[[], str], largest: int) -> None:
    """Print the URL, then serve until this process is stopped."""
    import uvicorn

    listener = listening(host, port)
    port = listener.getsockname()[1]
    app = make_app(server, host, port, token(), largest)
    config = uvicorn.Config(
        app,
        http=_connection(),
        log_level="warning",
        access_log=False,
        limit_concurrency=MOST,
        timeout_graceful_shutdown=1,
    )
    shown = f"[{host}]" if ":" in host else host
    sys.stdout.write(f"http://{shown}:{port}{PATH}\n")
    sys.stdout.flush()
    await uvicorn.Server(config).serve(sockets=[listener])


def _connection() -> Any:
    """Return the class of a connection that ends if no request comes soon, or if others need its place.

    The server itself waits for the first request for ever, so that idle connections would fill it.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    known: dict[Any, asyncio.TimerHandle | None] = {}  # oldest first

    class Connection(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            known[self] = None
            self._wait()
            if len(known) >= MOST and (oldest := next((each for each in known if each.is_idle), None)):
                oldest.transport.abort()
                oldest.leave()

        def connection_lost(self, error: Exception | None) -> None:
            self.leave()
            super().connection_lost(error)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._wait()

        @property
        def is_idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def leave(self) -> None:
            if timer := known.pop(self, None):
                timer.cancel()

        def _wait(self) -> None:
            if self in known:
                self.leave()
                known[self] = asyncio.get_running_loop().call_later(HEAD_WITHIN, self._give_up)

        def _give_up(self) -> None:
            if self.is_idle:
                self.transport.abort()

    return Connection


def _require_token(app: App, token: str) -> App:
    expected = f"Bearer {token}".encode()

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            header = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(header, expected):
                await _refuse(send)
                return
        await app(scope, receive, send)

    return guard


async def _refuse(send: Send) -> None:
    body = b"the token of the server is missing or wrong: see `errands mcp --help`\n"
    headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})
