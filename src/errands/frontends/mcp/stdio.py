"""Standard input and output as the way to a client: one message per line, none too long, and nothing else.

The client owns the process: when it hangs up the server ends, and what was launched goes on.
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
_GOODBYE = 3.0  # seconds in which the last answers can be read after a client has hung up

Text = tuple[bytes, asyncio.Future[bool] | None]


async def serve(server: Server[Any], largest: int) -> None:
    """Serve the client that started this process, until it hangs up."""
    # Whatever prints from here on, ours or not, must not reach the client.
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    await carry(server, _taken(0, nothing), _taken(1, 2), largest)


async def carry(server: Server[Any], wire_in: int, wire_out: int, largest: int) -> None:
    """Carry messages between a server and two descriptors, until nothing more comes in."""
    incoming, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    lines: asyncio.Queue[bytes | None] = asyncio.Queue(1)
    texts: queue.SimpleQueue[Text] = queue.SimpleQueue()
    loop = asyncio.get_running_loop()
    for act in (lambda: _read(wire_in, largest, lines, loop), lambda: _write(wire_out, texts, loop)):
        # Nobody waits for these: a client that neither reads nor leaves must not hold us.
        threading.Thread(target=act, daemon=True).start()

    async def hear() -> None:
        async with incoming, said.clone() as reply:
            while (line := await lines.get()) is not None:
                message = _understood(line)
                if isinstance(message, JSONRPCError):
                    await reply.send(SessionMessage(message))
                else:
                    await incoming.send(SessionMessage(message))

    async def say() -> None:
        async with outgoing:
            async for each in outgoing:
                is_read: asyncio.Future[bool] = loop.create_future()
                texts.put((_written(each.message) + b"\n", is_read))
                if not await is_read:
                    return

    serving = server.run(heard, said, server.create_initialization_options())
    cursor, running, saying = tasks = [asyncio.create_task(each) for each in (hear(), serving, say())]
    try:
        await asyncio.wait((cursor, running), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((running, saying), timeout=_GOODBYE)
    finally:
        texts.put((b"", None))
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error


def _written(message: Any) -> bytes:
    try:
        text: str = message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:  # half a character, for which there is no UTF-8
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True), ensure_ascii=False)
    return text.encode("utf-8", "replace")


def _understood(line: bytes) -> Any:
    """Read a message; of what is none, give the error that its sender gets."""
    if not line:
        return _error(None, INVALID_REQUEST, "the message is too long")
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "this is no JSON")
    try:
        whole = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
        return jsonrpc_message_adapter.validate_json(whole, by_name=False)
    except (ValueError, RecursionError):
        pass
    number = found.get("id") if isinstance(found, dict) else None
    is_name = isinstance(number, str | int) and not isinstance(number, bool)
    return _error(number if is_name else None, INVALID_REQUEST, "this is no JSON-RPC message")


def _error(number: str | int | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=message))


def _taken(number: int, instead: int) -> int:
    """Take a descriptor for ourselves alone; whoever uses it from now on gets another one."""
    own = os.dup(number)
    os.dup2(instead, number)
    return own


def _read(
    wire: int, largest: int, lines: asyncio.Queue[bytes | None], loop: asyncio.AbstractEventLoop
) -> None:
    """Read lines in a thread of their own; of one that is too long nothing is kept but that it came."""
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
    """Write texts in a thread of their own, and say of each whether it could be written."""
    while (text := texts.get())[0]:
        content, is_read = text
        try:
            while content:
                content = content[os.write(wire, content) :]
        except OSError:  # the client does not listen any more
            pass
        try:
            loop.call_soon_threadsafe(_settle, is_read, not content)
        except RuntimeError:
            return  # the loop has ended; so does the process


def _settle(future: asyncio.Future[bool] | None, value: bool) -> None:
    if future is not None and not future.done():
        future.set_result(value)
