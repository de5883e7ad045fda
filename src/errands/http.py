"""HTTP clients over the standard library: `request` blocks; `AsyncClient` also follows a stream of events.

Every failure is an `HttpError` that says whether the server may have received the request. Both go through
the proxy that the environment names (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), but never to this machine itself.
"""

from __future__ import annotations

import asyncio
import base64
import http.client
import ipaddress
import json
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

LONGEST_HEAD = 1 << 20
LONGEST_EVENT = 64 << 20
# A time-out is an OSError; a malformed response, or a path that is not ASCII, is a ValueError.
_BROKEN = (OSError, EOFError, ValueError, asyncio.LimitOverrunError, http.client.HTTPException)


class HttpError(OSError):
    """The server cannot be reached, is too slow, hangs up, or its response makes no sense."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class Response:
    """`headers` have lower-case names."""

    def __init__(self, code: int, headers: Mapping[str, str], body: bytes) -> None:
        self.code = code
        self.headers = headers
        self.body = body

    def json(self) -> Any:
        """Parse the body; return None if it is empty."""
        try:
            return json.loads(self.body) if self.body else None
        except ValueError as error:
            raise HttpError(f"the response is not JSON: {self.body[:200]!r}", was_sent=True) from error


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    timeout: float,
    longest: int = 1 << 20,
) -> Response:
    """Send one request and return at most `longest` bytes of the response; each step may take `timeout`."""
    connection, to = _connection(url, timeout)
    was_sent = False
    try:
        parts = urlsplit(url)
        target = to.prefix + (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body=body, headers={**headers, **to.headers})
        was_sent = True
        answer = connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, names, answer.read(longest))
    except _BROKEN as error:
        raise HttpError(str(error) or type(error).__name__, was_sent=was_sent) from error
    finally:
        connection.close()


def _connection(url: str, timeout: float) -> tuple[http.client.HTTPConnection, _Route]:
    try:
        parts = urlsplit(url)
        to = _route(parts)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(to.host, to.port, timeout=timeout)
        if to.tunnel is not None:
            connection.set_tunnel(parts.hostname or "", parts.port, headers=to.tunnel)
        return connection, to
    except (ValueError, http.client.HTTPException) as error:
        raise HttpError(f"not an address: {url}: {error}", was_sent=False) from error


class _Route(NamedTuple):
    """Where to connect for an address: the host itself, or its proxy.

    To a proxy, a plain request names the whole address: `prefix`, with `headers` for the proxy. An encrypted
    one goes through a tunnel, which is opened with the headers in `tunnel`.
    """

    host: str
    port: int
    prefix: str = ""
    headers: Mapping[str, str] = {}
    tunnel: Mapping[str, str] | None = None


def _route(parts: SplitResult) -> _Route:
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if not (proxy := proxy_of(parts)):
        return _Route(host, port)
    at = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    headers = {}
    if at.username:
        login = basic_auth(unquote(at.username), unquote(at.password or ""))
        headers = {"Proxy-Authorization": login["Authorization"]}
    if parts.scheme == "https":
        return _Route(at.hostname or "", at.port or 80, tunnel=headers)
    netloc = parts.netloc.rpartition("@")[2]
    return _Route(at.hostname or "", at.port or 80, prefix=f"http://{netloc}", headers=headers)


def proxy_of(address: SplitResult | str) -> str | None:
    """Return the proxy that the environment names for an address."""
    parts = urlsplit(address) if isinstance(address, str) else address
    host = parts.hostname or ""
    if not any(name.lower().endswith("_proxy") for name in os.environ) or is_here(host):
        return None
    import urllib.request

    # What the standard library's own client calls; its types leave it out.
    is_excepted: Any = urllib.request.proxy_bypass_environment  # type: ignore[attr-defined]
    proxies = urllib.request.getproxies_environment()
    return None if is_excepted(host, proxies) else proxies.get(parts.scheme)


def is_here(host: str) -> bool:
    """Return whether only this machine can reach a host by this name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def basic_auth(username: str, password: str) -> dict[str, str]:
    word = base64.b64encode(f"{username}:{password}".encode()).decode()
    return {"Authorization": f"Basic {word}"}


class AsyncClient:
    """A client for one server; each request has its own connection, so no failure affects the next."""

    def __init__(
        self, url: str, *, headers: Mapping[str, str], timeout: float, socket: str | None = None
    ) -> None:
        """`socket` is the path of the Unix socket to connect to, instead of the host."""
        self._socket = socket
        parts = urlsplit(url)
        self._host = parts.hostname or "127.0.0.1"
        self._ssl = ssl.create_default_context() if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._ssl else 80)
        self._route = _Route(self._host, self._port) if socket is not None else _route(parts)
        self._prefix = self._route.prefix + parts.path.rstrip("/")
        self._timeout = timeout
        self._headers = {
            "Host": parts.netloc.rpartition("@")[2],
            "Connection": "close",
            **headers,
            **self._route.headers,
        }

    async def request(
        self, method: str, path: str, *, query: Mapping[str, str], body: Any = None
    ) -> Response:
        """Send a request, with `body` as JSON, and read the whole response."""
        was_sent = False
        try:
            async with asyncio.timeout(self._timeout), self._connection() as (reader, writer):
                was_sent = True
                await self._send(writer, method, path, query, body)
                code, headers = await _head(reader)
                pieces = [piece async for piece in _body(reader, headers)]
        except _BROKEN as error:
            raise HttpError(str(error) or type(error).__name__, was_sent=was_sent) from error
        return Response(code, headers, b"".join(pieces))

    async def events(self, path: str, *, query: Mapping[str, str], silence: float) -> AsyncIterator[Any]:
        """Yield the server-sent events of a stream until it ends, breaks, or is silent for too long."""
        try:
            async with self._connection() as (reader, writer):
                async with asyncio.timeout(self._timeout):
                    await self._send(writer, "GET", path, query, None)
                    code, headers = await _head(reader)
                if code != 200:
                    raise HttpError(f"the server answers {code} when asked for events", was_sent=True)
                rest = b""
                pieces = aiter(_body(reader, headers))
                while True:
                    async with asyncio.timeout(silence):
                        piece = await anext(pieces, b"")
                    if not piece:
                        return
                    *events, rest = (rest + piece).replace(b"\r\n", b"\n").split(b"\n\n")
                    for event in events:
                        lines = [line[5:] for line in event.split(b"\n") if line.startswith(b"data:")]
                        if lines:
                            yield json.loads(b"\n".join(lines))
                    if len(rest) > LONGEST_EVENT:
                        raise ValueError("an event without an end")
        except _BROKEN as error:
            raise HttpError(str(error) or type(error).__name__, was_sent=True) from error

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        if self._socket is not None:
            reader, writer = await asyncio.open_unix_connection(self._socket, limit=LONGEST_HEAD)
        else:
            reader, writer = await asyncio.open_connection(
                self._route.host,
                self._route.port,
                ssl=self._ssl if self._route.tunnel is None else None,
                limit=LONGEST_HEAD,
            )
        try:
            if self._route.tunnel is not None and self._ssl is not None:
                await self._open_tunnel(reader, writer, self._route.tunnel, self._ssl)
            yield reader, writer
        finally:
            writer.transport.abort()

    async def _open_tunnel(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        headers: Mapping[str, str],
        context: ssl.SSLContext,
    ) -> None:
        """Ask the proxy for a tunnel to the host, and encrypt what goes through it."""
        place = f"[{self._host}]" if ":" in self._host else self._host
        at = f"{place}:{self._port}"
        lines = [
            f"CONNECT {at} HTTP/1.1",
            f"Host: {at}",
            *(f"{key}: {value}" for key, value in headers.items()),
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        await writer.drain()
        code, _ = await _head(reader)
        if code != 200:
            raise OSError(f"the proxy {self._route.host}:{self._route.port} answers {code}")
        await writer.start_tls(context, server_hostname=self._host)

    async def _send(
        self, writer: asyncio.StreamWriter, method: str, path: str, query: Mapping[str, str], body: Any
    ) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        if method != "GET":
            headers["Content-Length"] = str(len(content))
        target = self._prefix + quote(path) + (f"?{urlencode(query)}" if query else "")
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        await writer.drain()


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    protocol, _, rest = lines[0].partition(" ")
    if not protocol.startswith("HTTP/"):
        raise ValueError(f"the response is not HTTP: {lines[0][:200]!r}")
    pairs = (line.partition(":") for line in lines[1:] if line)
    return int(rest[:3]), {name.lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
    elif "content-length" in headers:
        yield await reader.readexactly(int(headers["content-length"]))
    else:
        while piece := await reader.read(65536):
            yield piece
