"""The HTTP client for an OpenCode server, and the errors when there is no server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from errands.agents.opencode import OpenCode
from errands.http import AsyncClient, HttpError, basic_auth
from errands.model.errors import AgentError, AgentUnavailable, BadValue
from errands.testing.agent_context import RecordingContext

EVENT = b'data: {"type": "a"}\n\n'


@asynccontextmanager
async def answering(*pieces: bytes, stay: bool = False) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Answer every request with the same bytes; give the address and what was asked."""
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


def client(url: str, *, password: str | None = None, timeout: float = 5.0) -> AsyncClient:
    return AsyncClient(url, headers=basic_auth("opencode", password) if password else {}, timeout=timeout)


@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"a": 12}',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n5;x=y\r\n: 12}\r\n0\r\n\r\n',
        b'HTTP/1.1 200 OK\r\n\r\n{"a": 12}',
    ],
    ids=["length", "chunks", "until the end"],
)
@pytest.mark.parametrize("cut", [lambda whole: [whole], lambda whole: [bytes([each]) for each in whole]])
async def test_an_answer_is_read_however_it_comes(answer: bytes, cut: Callable[[bytes], list[bytes]]) -> None:
    async with answering(*cut(answer)) as (url, _asked):
        reply = await client(url).request("GET", "/x", query={})

    assert (reply.code, reply.json()) == (200, {"a": 12})


@pytest.mark.fault("F48")
@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"],
    ids=["nothing", "half a head", "nonsense", "half a body"],
)
async def test_an_answer_that_breaks_off_is_an_error(answer: bytes) -> None:
    async with answering(answer) as (url, _asked):
        with pytest.raises(HttpError) as caught:
            await client(url).request("POST", "/x", query={}, body={})

    assert caught.value.was_sent


async def test_an_answer_that_does_not_come_is_not_waited_for_without_end() -> None:
    async with answering(stay=True) as (url, _asked):
        with pytest.raises(HttpError) as caught:
            await client(url, timeout=0.1).request("GET", "/x", query={})

    assert caught.value.was_sent


async def test_a_server_that_is_not_there_got_nothing() -> None:
    with pytest.raises(HttpError) as caught:
        await client(f"http://127.0.0.1:{_free_port()}").request("POST", "/x", query={}, body={})

    assert not caught.value.was_sent


async def test_what_is_asked_is_escaped_and_carries_the_password() -> None:
    async with answering(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n") as (url, asked):
        reply = await client(f"{url}/base", password="secret").request(
            "GET", "/ä b", query={"directory": "/x y&z"}
        )

    assert reply.json() is None
    head = asked[0].decode().split("\r\n")
    assert head[0] == "GET /base/%C3%A4%20b?directory=%2Fx+y%26z HTTP/1.1"
    assert "Authorization: Basic b3BlbmNvZGU6c2VjcmV0" in head


async def test_events_are_read_however_they_are_cut() -> None:
    stream = b"HTTP/1.1 200 OK\r\n\r\n" + EVENT + b": a comment\n\n" + b'data: {"type":\r\ndata: "b"}\r\n\r\n'
    async with answering(*[bytes([each]) for each in stream]) as (url, _asked):
        events = [each async for each in client(url).events("/event", query={}, silence=5)]

    assert events == [{"type": "a"}, {"type": "b"}]


@pytest.mark.fault("F48")
async def test_a_stream_that_falls_silent_is_given_up() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n" + EVENT, stay=True) as (url, _asked):
        events = client(url).events("/event", query={}, silence=0.2)
        assert await anext(events) == {"type": "a"}
        with pytest.raises(HttpError):
            await anext(events)


@pytest.mark.fault("F47")
async def test_a_server_that_is_down_is_named_after_a_few_tries(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{_free_port()}"

    async with asyncio.timeout(60):
        with pytest.raises(AgentUnavailable, match=f"OpenCode at {url} does not answer"):
            await OpenCode({"url": url, "retries": 1}).open(RecordingContext(tmp_path))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", "wants a password"),
        (b"HTTP/1.1 400 Bad\r\nContent-Length: 4\r\n\r\nno!!", "refuses POST /session: 400 no!!"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "is not JSON"),
    ],
)
async def test_what_the_server_refuses_is_reported(tmp_path: Path, answer: bytes, words: str) -> None:
    async with answering(answer) as (url, _asked):
        with pytest.raises(AgentError, match=words):
            await OpenCode({"url": url, "retries": 0}).open(RecordingContext(tmp_path))


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadValue, match=r"no setting 'uri' \(did you mean url\?\); there are agent, model"):
        OpenCode({"uri": "http://127.0.0.1", "lane": "agent"})


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
