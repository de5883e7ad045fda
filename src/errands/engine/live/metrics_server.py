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
from errands.ports.server_socket import host_names

PATH = "/metrics"
DEFAULT = ("127.0.0.1", 7879)
MOST = 50  # connections at the same time
HEAD_WITHIN = 5.0  # seconds
LONGEST_HEAD = 16_384
_WORDS = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 421: "Misdirected Request", 500: "Internal Server Error",
    503: "Service Unavailable",
}  # fmt: skip
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
            more = "WWW-Authenticate: Bearer\r\n" if code == 401 else ""
            head = (
                f"HTTP/1.1 {code} {_WORDS[code]}\r\nContent-Type: {kind}\r\n{more}"
                f"Vary: Accept\r\nContent-Length: {len(body)}\r\n"
                f"Cache-Control: no-store\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + (b"" if is_head else body))
            async with asyncio.timeout(HEAD_WITHIN):
                await writer.drain()
        except (OSError, TimeoutError):
            pass  # the scraper has gone
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, bytes, str, bool]:
        if self._connections > MOST:
            return 503, b"too many connections\n", _PLAIN, False
        try:
            async with asyncio.timeout(HEAD_WITHIN):
                raw = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            return 408, b"too slow\n", _PLAIN, False
        except (asyncio.LimitOverrunError, asyncio.IncompleteReadError, OSError):
            return 400, b"this is not a request\n", _PLAIN, False
        first, *lines = raw.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return 400, b"this is not a request\n", _PLAIN, False
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        code, body, kind = self._page(words[0], words[1].partition("?")[0], headers)
        return code, body, kind, words[0] == "HEAD"

    def _page(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, bytes, str]:
        if headers.get("host", "").lower() not in self._hosts:
            return 421, b"this server has another name\n", _PLAIN
        if not hmac.compare_digest(headers.get("authorization", "").encode("latin-1"), self._expected):
            return 401, b"the token of the server is missing or wrong: see `errands metrics --help`\n", _PLAIN
        if path != PATH:
            return 404, b"there is only /metrics\n", _PLAIN
        if method not in ("GET", "HEAD"):
            return 405, b"use GET\n", _PLAIN
        try:
            kind, body = negotiated(self._read(), headers.get("accept", ""))
            return 200, body.encode(), kind
        except StoreError as error:
            _LOG.warning("%s", error)
            return 500, b"the store cannot be read; see `errands doctor`\n", _PLAIN
