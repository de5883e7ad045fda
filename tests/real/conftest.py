"""One model and one OpenCode server for all tests of real programs."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from errands.testing.model_server import ModelServer
from tests.real.programs import opencode_env, program

STARTING = 60.0  # seconds


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def opencode(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start an OpenCode server; give its address."""
    home = tmp_path_factory.mktemp("opencode")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (home / "output").open("wb") as output:
        server = subprocess.Popen(
            [program("opencode"), "serve", "--port", str(port), "--hostname", "127.0.0.1"],
            cwd=home,
            env={**os.environ, **opencode_env(home, model.openai_url)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, server)
        yield url
    finally:
        server.kill()
        server.wait()


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTING
    while True:
        assert server.poll() is None, "OpenCode ended while it started"
        try:
            # A request that comes while it boots may never be answered.
            with urllib.request.urlopen(f"{url}/global/health", timeout=1):
                return
        except (OSError, urllib.error.URLError):
            assert time.monotonic() < deadline, "OpenCode does not start"
            time.sleep(0.1)
