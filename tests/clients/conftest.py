"""One model and one OpenCode server for all tests of real programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from errands.testing.model_server import ModelServer
from tests.clients.servers import OpenCodeServer


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def opencode(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start an OpenCode server; return its address."""
    server = OpenCodeServer(tmp_path_factory.mktemp("opencode"), model.openai_url)
    try:
        server.start()
        yield server.url
    finally:
        server.kill()
