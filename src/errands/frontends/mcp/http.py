"""Streamable HTTP as the way to clients: on this machine only, for those who have the token.

A web page cannot get in by renaming its host to ours: what is not called by our name is refused.
"""

from __future__ import annotations

import hmac
import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from errands.model.errors import BadValue, ErrandsError

PATH = "/mcp"
DEFAULT = ("127.0.0.1", 7878)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_WILDCARDS = ("", "0.0.0.0", "::", "*")
_MOST = 200  # connections at the same time

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def address(text: str) -> tuple[str, int]:
    """Read `HOST:PORT`, `HOST` or `PORT`; port 0 means any that is free."""
    if not text:
        return DEFAULT
    if text.isdecimal():
        host, port = DEFAULT[0], text
    elif text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") > 1:
        host, port = text, ""
    else:
        host, _, port = text.partition(":")
    if port and not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise BadValue(f"{text!r} is no address; write HOST:PORT, such as 127.0.0.1:7878")
    if host in _WILDCARDS:
        raise BadValue(f"name the one address that clients use, such as 127.0.0.1, not {host!r}")
    return host, int(port) if port else DEFAULT[1]


def make_app(server: Server[Any], host: str, port: int, token: str | None, largest: int) -> App:
    """Make the application; without a token, whoever reaches it is let in."""
    names = _LOOPBACK if host in _LOOPBACK else (host,)
    shown = [f"[{each}]" if ":" in each else each for each in names]
    hosts = [f"{each}:{port}" for each in shown] + (shown if port == 80 else [])
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        host=host,
        max_request_body_size=largest,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{each}" for each in hosts]
        ),
    )
    return app if token is None else _guarded(app, token)


def listening(host: str, port: int) -> socket.socket:
    """Open the socket on which clients are heard."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only of a socket that names its protocol does asyncio know that nothing small shall be held back.
    place = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind((host, port))
        place.listen()
    except OSError as error:
        place.close()
        raise ErrandsError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return place


async def serve(server: Server[Any], host: str, port: int, token: Callable[[], str], largest: int) -> None:
    """Serve until this process is told to end; say first where."""
    import uvicorn

    place = listening(host, port)
    port = place.getsockname()[1]
    app = make_app(server, host, port, token(), largest)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, limit_concurrency=_MOST, timeout_graceful_shutdown=1
    )
    shown = f"[{host}]" if ":" in host else host
    sys.stdout.write(f"http://{shown}:{port}{PATH}\n")
    sys.stdout.flush()
    await uvicorn.Server(config).serve(sockets=[place])


def _guarded(app: App, token: str) -> App:
    """Let in only whoever has the token."""
    wanted = f"Bearer {token}".encode()

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, wanted):
                await _refuse(send)
                return
        await app(scope, receive, send)

    return guard


async def _refuse(send: Send) -> None:
    body = b"this needs the token of the server: see `errands mcp --help`\n"
    headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})
