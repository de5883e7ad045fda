"""Servers for the tests of the web API: one for each module, and own ones where a test needs that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.frontends.web.server import WebServer


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A server that the tests of a module share, with a signed-in browser."""
    server = WebServer(tmp_path_factory.mktemp("web"))
    assert server.sign_in().status == 201
    yield server
    server.close()


@pytest.fixture
def make_web(tmp_path: Path) -> Iterator[Callable[..., WebServer]]:
    """Make servers of the test's own; they are closed at its end."""
    made: list[WebServer] = []

    def make(
        *, settings: str = "", words: tuple[str, ...] = (), limits: Mapping[str, float] | None = None
    ) -> WebServer:
        folder = tmp_path / f"web{len(made)}"
        folder.mkdir()
        made.append(WebServer(folder, settings=settings, words=words, limits=limits))
        return made[-1]

    yield make
    for server in made:
        server.close()
