"""The wire to a server: requests with JSON, and a stream of events; nothing but the standard library."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

LONGEST_HEAD = 1 << 20
LONGEST_EVENT = 64 << 20


class WireError(Exception):
    """The server cannot be reached, is too slow, or hangs up. `sent`: it may have got the request."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class Reply:
    def __init__(self, code: int, body: bytes) -> None:
        self.code = code
        self.body = body

    @property
    def value(self) -> Any:
        """The JSON of the reply; None when there is none."""
        try:
            return json.loads(self.body) if self.body else None
        except ValueError as error:
            raise WireError(f"the server talks nonsense: {self.body[:200]!r}", sent=True) from error


class Wire:
    """One connection for each request: few are needed, and none can be broken by the one before."""

    def __init__(self, url: str, *, username: str, password: str | None, timeout: float) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or "127.0.0.1"
        self._secure = parts.scheme == "https"
        self._port = parts.port or (443 if self._secure else 80)
        self._prefix = parts.path.rstrip("/")
        self._timeout = timeout
        self._headers = {"Host": parts.netloc.rpartition("@")[2], "Connection": "close"}
        if password:
            word = base64.b64encode(f"{username}:{password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {word}"

    async def ask(self, method: str, path: str, *, query: Mapping[str, str], body: Any = None) -> Reply:
        """Send a request and read the whole reply."""
        sent = False
        try:
            async with asyncio.timeout(self._timeout), self._open() as (reader, writer):
                sent = True
                await self._send(writer, method, path, query, body)
                code, headers = await _head(reader)
                pieces = [piece async for piece in _body(reader, headers)]
        except (
            OSError,
            EOFError,
            ValueError,
            asyncio.LimitOverrunError,
        ) as error:  # a time-out is an OSError
            raise WireError(str(error) or type(error).__name__, sent=sent) from error
        return Reply(code, b"".join(pieces))

    async def events(self, path: str, *, query: Mapping[str, str], silence: float) -> AsyncIterator[Any]:
        """Give the events of a stream until it ends, breaks, or is silent for too long."""
        try:
            async with self._open() as (reader, writer):
                async with asyncio.timeout(self._timeout):
                    await self._send(writer, "GET", path, query, None)
                    code, headers = await _head(reader)
                if code != 200:
                    raise WireError(f"the server answers {code} when asked for events", sent=True)
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
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise WireError(str(error) or type(error).__name__, sent=True) from error

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        context = ssl.create_default_context() if self._secure else None
        reader, writer = await asyncio.open_connection(
            self._host, self._port, ssl=context, limit=LONGEST_HEAD
        )
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def _send(
        self, writer: asyncio.StreamWriter, method: str, path: str, query: Mapping[str, str], body: Any
    ) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        headers = dict(self._headers)
        if body is not None:
            headers |= {"Content-Type": "application/json"}
        if method != "GET":
            headers |= {"Content-Length": str(len(content))}
        target = (
            f"{self._prefix}{quote(path)}?{urlencode(query)}" if query else f"{self._prefix}{quote(path)}"
        )
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        await writer.drain()


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    protocol, _, rest = lines[0].partition(" ")
    if not protocol.startswith("HTTP/"):
        raise ValueError(f"the server talks nonsense: {lines[0][:200]!r}")
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
