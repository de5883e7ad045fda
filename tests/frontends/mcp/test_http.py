"""The server over HTTP: only with its token, its own host name, and messages of limited size."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from errands.frontends.mcp.http import DEFAULT
from errands.frontends.tools.http_server import MOST
from errands.model.errors import BadValue
from errands.ports.server_socket import address
from tests.frontends.mcp.conversation import ERAS, call, text
from tests.short_limits import command

pytestmark = pytest.mark.spec("X5")

_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ASKING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": _META}}

BRIEF = {"errands.frontends.tools.http_server.HEAD_WITHIN": 2.0}

# A client that shows forms, and proposes something harmful.
HARMING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "run",
        "arguments": {"command": "rm -rf /nowhere/x"},
        "_meta": {**_META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}},
    },
}
HARM = """
import http.client, sys
url, token, body = sys.argv[1:]
line = http.client.HTTPConnection(url.split("/")[2], timeout=60)
line.request("POST", "/mcp", body.encode(), {
    "Authorization": f"Bearer {token}", "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call", "Mcp-Name": "run",
})
print(line.getresponse().read().decode())
"""


class Listener:
    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        home = folder / "home"
        self._environ = {**os.environ, "ERRANDS_HOME": str(home), "XDG_CONFIG_HOME": str(folder / "config")}
        self.process = subprocess.Popen(
            [*command(BRIEF), "mcp", "--http", "127.0.0.1:0"],
            cwd=folder,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        place = home / "mcp" / "token"
        assert place.stat().st_mode & 0o777 == 0o600
        self.token = place.read_text()

    def post(self, body: bytes | None = None, **more: str) -> tuple[int, bytes]:
        """Send a raw request; return the status and the body."""
        where = urlsplit(self.url)
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/list",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }
        line = http.client.HTTPConnection(where.netloc, timeout=60)
        try:
            line.request("POST", where.path, json.dumps(ASKING).encode() if body is None else body, headers)
            answer = line.getresponse()
            return answer.status, answer.read()
        except (BrokenPipeError, ConnectionResetError):
            return 0, b""  # it closed the connection early
        finally:
            line.close()

    def connect(self, said: bytes) -> socket.socket:
        """Open a connection, and send the beginning of a request."""
        where = urlsplit(self.url)
        line = socket.create_connection((where.hostname, where.port), timeout=60)
        line.sendall(said)
        return line

    def errands(self, *words: str) -> str:
        """Run a command in the same home; return what it printed."""
        command = [sys.executable, "-m", "errands", *words]
        return subprocess.run(command, env=self._environ, check=False, capture_output=True, text=True).stdout

    def close(self) -> None:
        self.process.terminate()
        assert self.process.wait(20) in (0, -15)
        assert self.process.stdout is not None
        self.process.stdout.close()
        words = [sys.executable, "-m", "errands", "daemon", "stop"]
        subprocess.run(words, env=self._environ, check=False, capture_output=True)


def is_closed(line: socket.socket) -> bool:
    """Wait for the end of a connection, whatever is sent before it."""
    try:
        while line.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listener]:
    found = Listener(tmp_path_factory.mktemp("http") / "project")
    yield found
    found.close()


def test_a_client_with_the_token_is_served(listener: Listener) -> None:
    code, said = listener.post()

    assert code == 200
    assert b'"tools"' in said


@pytest.mark.spec("A8")
def test_a_client_inside_a_run_is_shown_no_form_that_it_could_answer_itself(
    listener: Listener, tmp_path: Path
) -> None:
    (tmp_path / "harm.py").write_text(HARM)
    words = [sys.executable, str(tmp_path / "harm.py"), listener.url, listener.token, json.dumps(HARMING)]
    outside = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    inside = listener.errands("run", "--yes", "--wait", "--", "env", "-i", *words)

    assert "needs your approval" in outside
    assert "is proposed" in inside
    assert "needs your approval" not in inside


@pytest.mark.fault("F50")
@pytest.mark.parametrize("given", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic eDp5", "Bearer \xe4"])
def test_a_client_without_the_token_is_refused(listener: Listener, given: str) -> None:
    code, said = listener.post(Authorization=given)

    assert (code, b"token" in said) == (401, True)


@pytest.mark.fault("F52")
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1:1"])
def test_a_foreign_host_name_is_refused(listener: Listener, host: str) -> None:
    assert listener.post(Host=host)[0] == 421


@pytest.mark.fault("F52")
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(listener: Listener, origin: str) -> None:
    assert listener.post(Origin=origin)[0] == 403


@pytest.mark.fault("F50")
def test_an_oversized_or_malformed_message_is_refused(listener: Listener) -> None:
    assert listener.post(b"x" * 5 * 1024 * 1024)[0] in (0, 413)
    for body in (b"", b"nonsense", b"[]", b"17", b"\xff", b"[" * 100_000, b'{"jsonrpc": "2.0", "id": {}}'):
        assert listener.post(body)[0] == 400
    assert listener.post()[0] == 200


@pytest.mark.parametrize("era", ERAS)
async def test_the_session_comes_with_each_request(listener: Listener, era: str) -> None:
    async def listed(session: str, *, launch: bool = False) -> str:
        headers = {"Authorization": f"Bearer {listener.token}", "Errands-Session": session}
        async with (
            create_mcp_http_client(headers=headers) as carrier,
            Client(streamable_http_client(listener.url, http_client=carrier), mode=era, cache=None) as client,
        ):
            if launch:
                await call(client, "run", command="echo hello", wait=20_000)
            return text(await call(client, "tasks"))

    assert "echo hello" in await listed(f"one-{era}", launch=True)
    assert "echo hello" in await listed(f"one-{era}")
    assert await listed(f"two-{era}") == "There are no tasks."


def test_connections_without_a_request_make_room_for_a_client(listener: Listener) -> None:
    idle = [listener.connect(said) for said in (b"", b"POST /mcp HT") for _ in range(MOST * 2 // 3)]
    try:
        assert [listener.post()[0] for _ in range(5)] == [200] * 5
        assert is_closed(idle[0])
    finally:
        for each in idle:
            each.close()


@pytest.mark.parametrize("is_second", [False, True], ids=["first", "second"])
def test_half_a_request_is_not_waited_for(listener: Listener, is_second: bool) -> None:
    line = listener.connect(b"")
    try:
        if is_second:
            head = f"GET /other HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {listener.token}\r\n\r\n"
            line.sendall(head.encode())
            assert line.recv(65536).startswith(b"HTTP/1.1 404 ")
        line.sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        assert is_closed(line)
    finally:
        line.close()


def test_an_address_is_parsed() -> None:
    assert address("", DEFAULT) == DEFAULT
    assert address("8080", DEFAULT) == ("127.0.0.1", 8080)
    assert address("localhost:0", DEFAULT) == ("localhost", 0)
    assert address("[::1]:9", DEFAULT) == ("::1", 9)
    assert address("::1", DEFAULT) == ("::1", DEFAULT[1])
    for wrong in ("host:port", ":80", "127.0.0.1:99999", "0.0.0.0:80", "0.0.0.0", "[::]:80", "*"):
        with pytest.raises(BadValue):
            address(wrong, DEFAULT)
