"""A proxy before an OpenCode server that breaks the stream of events, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Literal
from urllib.parse import urlsplit

# refuse: close at once; cut: close at the first event of a session; deaf: stay open, but send nothing;
# miss: send everything but the end; only: send no other event that says that something is over
Break = Literal["refuse", "cut", "deaf", "miss", "only"]


class Proxy:
    def __init__(self, server: str, broken: Break) -> None:
        self._server = urlsplit(server)
        self._broken = broken
        self.streams = 0
        self.url = ""
        self._lines: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Proxy]:
        listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            listening.close()
            for line in self._lines:
                line.cancel()
            await asyncio.gather(*self._lines, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.current_task()
        assert line is not None
        self._lines.add(line)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)
        finally:
            self._lines.discard(line)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        is_stream = b" /event" in head.split(b"\r\n")[0]
        self.streams += is_stream
        if is_stream and self._broken == "refuse":
            return
        source, sink = await asyncio.open_connection(self._server.hostname, self._server.port)
        try:
            sink.write(head)
            sending = asyncio.create_task(_pass_on(reader, sink))
            try:
                while piece := await source.read(65536):
                    if is_stream and self._broken == "only":
                        writer.write(piece.replace(b'"step-finish"', b'"step-FINISH"'))
                        await writer.drain()
                        continue
                    if is_stream and b"session." in piece and self._broken != "miss":
                        if self._broken == "cut":
                            return
                        continue
                    if is_stream and b"session.idle" in piece:
                        continue
                    writer.write(piece)
                    await writer.drain()
            finally:
                sending.cancel()
        finally:
            sink.transport.abort()


async def _pass_on(reader: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        sink.write(piece)
        await sink.drain()
