"""The streamable HTTP transport: on this machine only, for clients that have the token.

Requests for another host name are refused, so a web page cannot get in by DNS rebinding.
"""

from __future__ import annotations

import hmac
import sys
from collections.abc import Callable, Sequence
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from errands.frontends.tools.http_server import (
    MOST,
    App,
    Receive,
    Scope,
    Send,
    authority,
    connection_class,
    origins_of,
)
from errands.ports.server_socket import listening

PATH = "/mcp"
DEFAULT = ("127.0.0.1", 7878)


def make_app(server: Server[Any], origins: Sequence[str], token: str | None, largest: int) -> App:
    """Return the ASGI application of a server that clients know by these origins.

    Without a token it is open to every client that can reach it.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=largest,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[each.partition("//")[2] for each in origins], allowed_origins=list(origins)
        ),
    )
    return app if token is None else _require_token(app, token)


async def serve(server: Server[Any], host: str, port: int, token: Callable[[], str], largest: int) -> None:
    """Print the URL, then serve until this process is stopped."""
    import uvicorn

    listener = listening(host, port)
    port = listener.getsockname()[1]
    app = make_app(server, origins_of(host, port), token(), largest)
    config = uvicorn.Config(
        app,
        http=connection_class(),
        log_level="warning",
        access_log=False,
        limit_concurrency=MOST,
        timeout_graceful_shutdown=1,
    )
    sys.stdout.write(f"http://{authority(host, port)}{PATH}\n")
    sys.stdout.flush()
    await uvicorn.Server(config).serve(sockets=[listener])


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
