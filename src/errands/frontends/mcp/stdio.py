"""The stdio transport: one message per line, limited in length, and nothing else on standard output.

The client owns the process: when it disconnects the server ends, and what was launched keeps running.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

_CHUNK = 64 * 1024
_DRAIN = 3.0  # seconds in which a client that has disconnected can still read the last replies

Text = tuple[bytes, asyncio.Future[bool] | None]


async def serve(server: Server[Any], largest: int) -> None:
    """Serve the client that started this process, until it disconnects."""
    # Nothing else that prints from here on may reach the client.
    devnull = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    await carry(server, _take(0, devnull), _take(1, 2), largest)


async def carry(server: Server[Any], wire_in: int, wire_out: int, largest: int) -> None:
    """Carry messages between a server and two descriptors, until the input ends."""
    incoming, requests = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    replies, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    lines: asyncio.Queue[bytes | None] = asyncio.Queue(1)
    texts: queue.SimpleQueue[Text] = queue.SimpleQueue()
    loop = asyncio.get_running_loop()
    for act in (lambda: _read(wire_in, largest, lines, loop), lambda: _write(wire_out, texts, loop)):
        # Daemon threads: a client that neither reads nor disconnects must not keep this process alive.
        threading.Thread(target=act, daemon=True).start()

    async def read() -> None:
        async with incoming, replies.clone() as reply:
            while (line := await lines.get()) is not None:
                message = _parse(line)
                if isinstance(message, JSONRPCError):
                    await reply.send(SessionMessage(message))
                else:
                    await incoming.send(SessionMessage(message))

    async def write() -> None:
        async with outgoing:
            async for each in outgoing:
                is_written: asyncio.Future[bool] = loop.create_future()
                texts.put((_encode(each.message) + b"\n", is_written))
                if not await is_written:
                    return

    serve = server.run(requests, replies, server.create_initialization_options())
    reading, serving, writing = tasks = [asyncio.create_task(each) for each in (read(), serve, write())]
    try:
        await asyncio.wait((reading, serving), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((serving, writing), timeout=_DRAIN)
    finally:
        texts.put((b"", None))
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error


def _encode(message: Any) -> bytes:
    try:
        text: str = message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:  # a lone surrogate, which UTF-8 cannot encode
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True), ensure_ascii=False)
    return text.encode("utf-8", "replace")


def _parse(line: bytes) -> Any:
    """Parse a message; return the error reply for an invalid one."""
    if not line:
        return _error(None, INVALID_REQUEST, "the message is too long")
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "the message is not JSON")
    try:
        whole = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
        return jsonrpc_message_adapter.validate_json(whole, by_name=False)
    except (ValueError, RecursionError):
        pass
    request_id = found.get("id") if isinstance(found, dict) else None
    is_valid = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    return _error(request_id if is_valid else None, INVALID_REQUEST, "the message is not JSON-RPC")


def _error(request_id: str | int | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


def _take(number: int, instead: int) -> int:
    """Return a private copy of a descriptor, and point its number elsewhere."""
    own = os.dup(number)
    os.dup2(instead, number)
    return own


def _read(
    wire: int, largest: int, lines: asyncio.Queue[bytes | None], loop: asyncio.AbstractEventLoop
) -> None:
    """Read lines, in a thread; one that is too long becomes an empty line."""
    kept, is_skipping = bytearray(), False

    def put(line: bytes | None) -> None:
        asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

    try:
        while chunk := _chunk(wire):
            *whole, rest = chunk.split(b"\n")
            for part in whole:
                kept += part
                line, kept = bytes(kept), bytearray()
                if is_skipping or len(line) > largest:
                    put(b"")
                elif line.strip():
                    put(line)
                is_skipping = False
            kept += rest
            if is_skipping or len(kept) > largest:
                kept, is_skipping = bytearray(), True
        put(None)
    except RuntimeError:
        return  # the loop has ended; so does the process


def _chunk(wire: int) -> bytes:
    try:
        return os.read(wire, _CHUNK)
    except OSError:
        return b""


def _write(wire: int, texts: queue.SimpleQueue[Text], loop: asyncio.AbstractEventLoop) -> None:
    """Write texts, in a thread, and report for each whether it was written."""
    while (text := texts.get())[0]:
        content, is_written = text
        try:
            while content:
                content = content[os.write(wire, content) :]
        except OSError:  # the client has closed its end
            pass
        try:
            loop.call_soon_threadsafe(_resolve, is_written, not content)
        except RuntimeError:
            return  # the loop has ended; so does the process


def _resolve(future: asyncio.Future[bool] | None, value: bool) -> None:
    if future is not None and not future.done():
        future.set_result(value)
