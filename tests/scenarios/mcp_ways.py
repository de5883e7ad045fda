"""The ways over MCP: stdio with a client of the older protocol, HTTP with one of the newer.

Server and client are the real ones, and so is what lies between them: a pipe, a socket. Only the process is
the test's own, because starting one for every session would take longer than all scenarios.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.message import SessionMessage
from mcp_types import Implementation, jsonrpc_message_adapter

from errands import bootstrap
from errands.dialects import named
from errands.frontends.mcp import http, stdio
from errands.frontends.mcp.client import MESSAGE
from errands.frontends.mcp.frontend import Frontend
from errands.frontends.mcp.server import LARGEST, make_server
from errands.frontends.tools.http_server import App, Receive, Scope, Send, origins_of
from errands.ports.dialect import Caller, Reply, Tool
from errands.ports.server_socket import listening
from errands.testing.engines import TestEngine
from errands.testing.speaker import Carrier, Way

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

TOKEN = "a token that only this test knows"

Transport = AbstractAsyncContextManager["TransportStreams"]
Reach = Callable[[Server[Any]], AbstractAsyncContextManager[Transport]]


class McpCarrier:
    """One client, connected for as long as its way is open."""

    def __init__(self, client: Client, caller: Caller) -> None:
        self._client = client
        self._caller = caller

    async def tools(self) -> Sequence[Tool]:
        found = await self._client.list_tools()
        return [
            Tool(
                name=each.name,
                description=each.description or "",
                parameters=each.input_schema,
                reads_only=bool(each.annotations and each.annotations.read_only_hint),
                destructive=bool(each.annotations and each.annotations.destructive_hint),
            )
            for each in found.tools
        ]

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Reply:
        meta = None if self._caller.message is None else {MESSAGE: self._caller.message}
        result = await self._client.call_tool(tool, _whole(arguments), meta=meta)  # type: ignore[arg-type]
        (block,) = result.content
        assert block.type == "text"
        return Reply(text=block.text, content=result.structured_content, failed=result.is_error)


def _whole(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out halves of characters, as every client must: there is no UTF-8 for them."""
    text = json.dumps(dict(arguments), ensure_ascii=False).encode("utf-8", "replace")
    whole: dict[str, Any] = json.loads(text)
    return whole


class McpWay:
    def __init__(self, engine: TestEngine, mode: Any, reach: Reach) -> None:
        self._engine = engine
        self._mode = mode
        self._reach = reach
        self._over = asyncio.Event()
        self._lives: list[asyncio.Task[None]] = []

    async def open(self, dialect: str, caller: Caller) -> Carrier:
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        # A task of its own, because what is entered in one must be left in the same.
        self._lives.append(asyncio.create_task(self._live(dialect, caller, ready)))
        self._lives[-1].add_done_callback(lambda life: ready.cancel())
        return McpCarrier(await ready, caller)

    async def close(self) -> None:
        self._over.set()
        await asyncio.gather(*self._lives)

    async def _live(self, dialect: str, caller: Caller, ready: asyncio.Future[Client]) -> None:
        engine = self._engine.engine
        frontend = Frontend(
            named(dialect),
            open_engine=lambda: bootstrap.open_engine(engine.home, engine.config),
            everything=caller.everything,
            environ={
                "ERRANDS_SESSION": caller.session or "",
                "ERRANDS_WAKE": caller.wake,
                "ERRANDS_RUN_ID": caller.run or "",
            },
            cwd=caller.cwd,
        )
        known_as = Implementation(name=caller.client, version="1")
        async with (
            self._reach(make_server(frontend)) as transport,
            Client(transport, mode=self._mode, client_info=known_as, cache=None) as client,
        ):
            ready.set_result(client)
            await self._over.wait()


@asynccontextmanager
async def over_stdio(engine: TestEngine) -> AsyncIterator[Way]:
    way = McpWay(engine, "legacy", piped)
    try:
        yield way
    finally:
        await way.close()


@asynccontextmanager
async def over_http(engine: TestEngine) -> AsyncIterator[Way]:
    house = House()
    way = McpWay(engine, "2026-07-28", house.room)
    try:
        async with house.open():
            yield way
            await way.close()
    finally:
        await way.close()


@asynccontextmanager
async def piped(server: Server[Any]) -> AsyncIterator[Transport]:
    (to_server, from_client), (to_client, from_server) = os.pipe(), os.pipe()
    carrying = asyncio.create_task(stdio.carry(server, to_server, from_server, LARGEST))
    try:
        yield _lines(to_client, from_client)
    finally:
        await carrying
        for wire in (to_server, from_server):
            os.close(wire)


@asynccontextmanager
async def _lines(wire_in: int, wire_out: int) -> AsyncIterator[TransportStreams]:
    """Be a client on two pipes; hang up when it leaves."""
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
    reader = asyncio.StreamReader(limit=2 * LARGEST)
    loop = asyncio.get_running_loop()
    pipe, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(wire_in, "rb")
    )

    async def receive() -> None:
        async with received:
            while line := await reader.readline():
                await received.send(
                    SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                )

    async def say() -> None:
        async with said:
            async for each in said:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                await asyncio.to_thread(os.write, wire_out, text.encode() + b"\n")

    tasks = [asyncio.create_task(receive()), asyncio.create_task(say())]
    try:
        yield incoming, outgoing
    finally:
        os.close(wire_out)
        pipe.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (received, incoming, outgoing, said):
            stream.close()


class House:
    """One listener for many servers, each in a room of its own: `/1/mcp`, `/2/mcp` ..."""

    def __init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None
        self._rooms: dict[str, App] = {}
        self._port = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        place = listening("127.0.0.1", 0)
        self._port = place.getsockname()[1]
        config = uvicorn.Config(
            self._enter, interface="asgi3", lifespan="off", log_level="warning", timeout_graceful_shutdown=1
        )
        serving = _Quiet(config)
        running = asyncio.create_task(serving.serve(sockets=[place]))
        try:
            # One for all, because each that is made reads the certificates of the world.
            async with create_mcp_http_client(headers={"Authorization": f"Bearer {TOKEN}"}) as self._client:
                yield
        finally:
            serving.should_exit = True
            await running

    @asynccontextmanager
    async def room(self, server: Server[Any]) -> AsyncIterator[Transport]:
        number = str(len(self._rooms) + 1)
        app = self._rooms[number] = http.make_app(server, origins_of("127.0.0.1", self._port), TOKEN, LARGEST)
        url = f"http://127.0.0.1:{self._port}/{number}{http.PATH}"
        async with _alive(app):
            yield streamable_http_client(url, http_client=self._client)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        number, _, rest = scope["path"].lstrip("/").partition("/")
        path = f"/{rest}"
        await self._rooms[number]({**scope, "path": path, "raw_path": path.encode()}, receive, send)


class _Quiet(uvicorn.Server):
    """Leaves the signals of the test's process alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def _alive(app: App) -> AsyncIterator[None]:
    """Tell an application that it begins and, later, that it ends, as every server does."""
    sent: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
    received: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()

    async def run() -> None:
        await app({"type": "lifespan", "asgi": {"version": "3.0"}}, sent.get, received.put)

    life = asyncio.create_task(run())
    await sent.put({"type": "lifespan.startup"})
    assert (await received.get())["type"] == "lifespan.startup.complete"
    yield
    await sent.put({"type": "lifespan.shutdown"})
    await life
