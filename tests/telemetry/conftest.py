"""The collector that telemetry tests export to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.telemetry.collector import Collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector().open() as collector:
        yield collector
