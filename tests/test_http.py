"""The HTTP client: whatever is wrong with an address, its failure is an `HttpError`."""

from __future__ import annotations

import asyncio
import http.server
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from errands import http as client
from tests.fixed_server import fixed_server

EVENT = b'data: {"type": "a"}\n\n'


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:no/", "http://127.0.0.1:99999999/", "http://[::1/", "http://a b/"]
)
def test_a_bad_address_was_not_sent(url: str) -> None:
    with pytest.raises(client.HttpError) as caught:
        client.request("GET", url, headers={}, timeout=5)
    assert not caught.value.was_sent


def test_a_path_that_is_not_ascii_was_not_sent(server: str) -> None:
    with pytest.raises(client.HttpError) as caught:
        client.request("GET", f"{server}/naïve", headers={}, timeout=5)
    assert not caught.value.was_sent


class Proxy(socketserver.ThreadingTCPServer):
    """A proxy that answers plain requests itself, and tunnels to one server whatever host it is asked for."""

    allow_reuse_address = True
    block_on_close = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.to = port
        self.asked: list[str] = []


class _Asked(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Proxy)
        head = b"".join(iter(self.rfile.readline, b"\r\n")).decode()
        self.server.asked.append(head)
        if not head.startswith("CONNECT"):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain")
            return
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with socket.create_connection(("127.0.0.1", self.server.to)) as there:
            back = threading.Thread(target=_copy, args=(there, self.connection))
            back.start()
            _copy(self.connection, there)
            back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class _Secret(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"secret")

    def log_message(self, *_: object) -> None:
        pass


@asynccontextmanager
async def proxied(monkeypatch: pytest.MonkeyPatch, certificate: Path, variable: str) -> AsyncIterator[Proxy]:
    """Serve HTTPS for the host errands.test, which only the proxy can reach."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    served = http.server.HTTPServer(("127.0.0.1", 0), _Secret)
    served.socket = context.wrap_socket(served.socket, server_side=True)
    proxy = Proxy(served.server_port)
    monkeypatch.setenv(variable, f"http://me:p%40ss@127.0.0.1:{proxy.server_address[1]}")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    serving = [asyncio.to_thread(each.serve_forever) for each in (served, proxy)]
    ends = asyncio.gather(*serving)
    try:
        yield proxy
    finally:
        for each in (served, proxy):
            await asyncio.to_thread(each.shutdown)
            await asyncio.to_thread(each.server_close)
        await ends


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate for errands.test, with its key in the same file."""
    place = tmp_path_factory.mktemp("tls") / "both.pem"
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=errands.test".split()
    named = ["-addext", "subjectAltName=DNS:errands.test", "-keyout", str(place), "-out", f"{place}.crt"]
    subprocess.run([*made, *named], check=True, capture_output=True)
    place.write_text(place.read_text() + Path(f"{place}.crt").read_text())
    return place


LOGIN = "Proxy-Authorization: Basic bWU6cEBzcw=="  # me:p@ss


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy"])
async def test_an_encrypted_request_goes_through_a_tunnel_of_the_proxy(
    monkeypatch: pytest.MonkeyPatch, certificate: Path, variable: str
) -> None:
    async with proxied(monkeypatch, certificate, variable) as proxy:
        url = "https://errands.test/path"
        blocking = await asyncio.to_thread(client.request, "GET", url, headers={}, timeout=30)
        waiting = await client.AsyncClient(url, headers={}, timeout=30).request("GET", "/", query={})

        assert (blocking.body, waiting.body) == (b"secret", b"secret")
        assert [head.partition(" HTTP")[0] for head in proxy.asked] == ["CONNECT errands.test:443"] * 2
        assert all(LOGIN in head and "/path" not in head for head in proxy.asked)


async def test_a_plain_request_names_the_whole_address_to_the_proxy(
    monkeypatch: pytest.MonkeyPatch, certificate: Path
) -> None:
    async with proxied(monkeypatch, certificate, "http_proxy") as proxy:
        url = "http://errands.test:8080/base"
        blocking = await asyncio.to_thread(client.request, "GET", f"{url}/a?b", headers={}, timeout=30)
        waiting = await client.AsyncClient(url, headers={}, timeout=30).request("GET", "/a", query={"b": "c"})

        assert (blocking.body, waiting.body) == (b"plain", b"plain")
        first, second = proxy.asked
        assert first.startswith("GET http://errands.test:8080/base/a?b HTTP/1.1")
        assert second.startswith("GET http://errands.test:8080/base/a?b=c HTTP/1.1")
        assert all(LOGIN in head for head in proxy.asked)


async def test_this_machine_and_excepted_hosts_are_reached_without_the_proxy(
    monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "internal.test")

    answer = await asyncio.to_thread(client.request, "GET", server, headers={}, timeout=30)

    assert answer.code == 501
    assert client.proxy_of("https://internal.test/") is None
    assert client.proxy_of("http://[::1]:80/") is None
    assert client.proxy_of("https://errands.test/") == "http://127.0.0.1:1"


def waiting(url: str, *, password: str | None = None, timeout: float = 5.0) -> client.AsyncClient:
    headers = client.basic_auth("opencode", password) if password else {}
    return client.AsyncClient(url, headers=headers, timeout=timeout)


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
    async with fixed_server(*cut(answer)) as (url, _asked):
        reply = await waiting(url).request("GET", "/x", query={})

    assert (reply.code, reply.json()) == (200, {"a": 12})


@pytest.mark.fault("F48")
@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"],
    ids=["nothing", "half a head", "nonsense", "half a body"],
)
async def test_an_answer_that_breaks_off_is_an_error(answer: bytes) -> None:
    async with fixed_server(answer) as (url, _asked):
        with pytest.raises(client.HttpError) as caught:
            await waiting(url).request("POST", "/x", query={}, body={})

    assert caught.value.was_sent


async def test_an_answer_that_does_not_come_is_not_waited_for_without_end() -> None:
    async with fixed_server(stay=True) as (url, _asked):
        with pytest.raises(client.HttpError) as caught:
            await waiting(url, timeout=0.1).request("GET", "/x", query={})

    assert caught.value.was_sent


async def test_a_server_that_is_not_there_got_nothing() -> None:
    with pytest.raises(client.HttpError) as caught:
        await waiting(f"http://127.0.0.1:{free_port()}").request("POST", "/x", query={}, body={})

    assert not caught.value.was_sent


async def test_what_is_asked_is_escaped_and_carries_the_password() -> None:
    async with fixed_server(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n") as (url, asked):
        reply = await waiting(f"{url}/base", password="secret").request(
            "GET", "/ä b", query={"directory": "/x y&z"}
        )

    assert reply.json() is None
    head = asked[0].decode().split("\r\n")
    assert head[0] == "GET /base/%C3%A4%20b?directory=%2Fx+y%26z HTTP/1.1"
    assert "Authorization: Basic b3BlbmNvZGU6c2VjcmV0" in head


async def test_events_are_read_however_they_are_cut() -> None:
    stream = b"HTTP/1.1 200 OK\r\n\r\n" + EVENT + b": a comment\n\n" + b'data: {"type":\r\ndata: "b"}\r\n\r\n'
    async with fixed_server(*[bytes([each]) for each in stream]) as (url, _asked):
        events = [each async for each in waiting(url).events("/event", query={}, silence=5)]

    assert events == [{"type": "a"}, {"type": "b"}]


@pytest.mark.fault("F48")
async def test_a_stream_that_falls_silent_is_given_up() -> None:
    async with fixed_server(b"HTTP/1.1 200 OK\r\n\r\n" + EVENT, stay=True) as (url, _asked):
        events = waiting(url).events("/event", query={}, silence=0.2)
        assert await anext(events) == {"type": "a"}
        with pytest.raises(client.HttpError):
            await anext(events)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
