"""The HTTP server of `errands metrics --listen`: one page, for a scraper on this machine that has the token.

It needs nothing but the standard library. Like the MCP server it refuses requests for another host name, so
that a web page cannot get in by DNS rebinding, and hangs up on those that say nothing.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
from collections.abc import Callable, Iterable

from errands.engine.live.metrics import Family, negotiated
from errands.model.errors import StoreError
from errands.ports.http_request import HEAD_WITHIN, LONGEST_HEAD, Rejection, read_head, response_head
from errands.ports.server_socket import host_names

PATH = "/metrics"
DEFAULT = ("127.0.0.1", 7879)
MOST = 50  # connections at the same time
_PLAIN = "text/plain; charset=utf-8"
_LOG = logging.getLogger("errands.metrics")


class MetricsServer:
    """Answers every scrape with what `read` returns then."""

    def __init__(self, read: Callable[[], Iterable[Family]], *, host: str, port: int, token: str) -> None:
        self._read = read
        self._hosts = host_names(host, port)
        self._expected = f"Bearer {token}".encode()
        self._connections = 0

    async def serve(self, listener: socket.socket) -> None:
        """Serve until cancelled."""
        server = await asyncio.start_server(self._connected, sock=listener, limit=LONGEST_HEAD)
        async with server:
            await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            code, body, kind, is_head = await self._answer(reader)
            more = ("WWW-Authenticate: Bearer",) if code == 401 else ()
            head = response_head(code, len(body), kind, *more, "Vary: Accept", "Cache-Control: no-store")
            writer.write(head if is_head else head + body)
            async with asyncio.timeout(HEAD_WITHIN):
                await writer.drain()
        except (OSError, TimeoutError):
            pass  # the scraper has gone
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, bytes, str, bool]:
        method = ""
        try:
            if self._connections > MOST:
                raise Rejection(503, "too many connections")
            method, path, headers = await read_head(reader)
            self._check(method, path, headers)
            kind, body = negotiated(self._read(), headers.get("accept", ""))
            return 200, body.encode(), kind, method == "HEAD"
        except Rejection as rejection:
            return rejection.code, f"{rejection}\n".encode(), _PLAIN, method == "HEAD"
        except StoreError as error:
            _LOG.warning("%s", error)
            return 500, b"the store cannot be read; see `errands doctor`\n", _PLAIN, method == "HEAD"

    def _check(self, method: str, path: str, headers: dict[str, str]) -> None:
        if headers.get("host", "").lower() not in self._hosts:
            raise Rejection(421, "this server has another name")
        if not hmac.compare_digest(headers.get("authorization", "").encode("latin-1"), self._expected):
            raise Rejection(401, "the token of the server is missing or wrong: see `errands metrics --help`")
        if path != PATH:
            raise Rejection(404, "there is only /metrics")
        if method not in ("GET", "HEAD"):
            raise Rejection(405, "use GET")
