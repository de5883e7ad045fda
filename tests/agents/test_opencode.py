"""The errors of an agent on an OpenCode server that is down, refuses or speaks nonsense."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from errands.agents.opencode import OpenCode
from errands.model.errors import AgentError, AgentUnavailable, BadValue
from errands.testing.agent_context import RecordingContext
from tests.fixed_server import fixed_server


@pytest.mark.fault("F47")
async def test_a_server_that_is_down_is_named_after_a_few_tries(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{_free_port()}"

    async with asyncio.timeout(60):
        with pytest.raises(AgentUnavailable, match=f"OpenCode at {url} does not answer"):
            await OpenCode({"url": url, "retries": 1}).open(RecordingContext(tmp_path))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", "requires a password"),
        (b"HTTP/1.1 400 Bad\r\nContent-Length: 4\r\n\r\nno!!", "refuses POST /session: 400 no!!"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "is not JSON"),
    ],
)
async def test_what_the_server_refuses_is_reported(tmp_path: Path, answer: bytes, words: str) -> None:
    async with fixed_server(answer) as (url, _asked):
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
