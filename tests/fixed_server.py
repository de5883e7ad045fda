"""A server on loopback that answers every request with the same bytes, however wrong they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def fixed_server(*pieces: bytes, stay: bool = False) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Answer every request with the same bytes; yield its address and what was asked."""
    asked: list[bytes] = []
    lines: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.current_task()
        assert line is not None
        lines.add(line)
        try:
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            while stay:
                await asyncio.sleep(1)
        finally:
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
    finally:
        server.close()
        for line in lines:
            line.cancel()
        await asyncio.gather(*lines, return_exceptions=True)
