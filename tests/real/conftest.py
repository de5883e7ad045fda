"""One model for all tests of real programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from errands.testing.model_server import ModelServer


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server
