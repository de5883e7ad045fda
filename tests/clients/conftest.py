"""One model and one OpenCode server for all tests of real programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.servers import OpenCodeServer
from tests.model_server import ModelServer


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def opencode_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("opencode")


@pytest.fixture(scope="session")
def opencode(model: ModelServer, opencode_home: Path) -> Iterator[str]:
    """Start an OpenCode server; return its address."""
    server = OpenCodeServer(opencode_home, model.openai_url)
    try:
        server.start()
        yield server.url
    finally:
        server.kill()
