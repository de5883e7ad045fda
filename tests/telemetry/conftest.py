"""What telemetry tests stand on: a collector, a home with daemons, and a client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.ports.home import Home
from tests.engine.daemons import Daemons
from tests.telemetry.collector import Collector


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(path=str(own_home))


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector().open() as collector:
        yield collector


@pytest.fixture
def client(home: Home) -> Iterator[Engine]:
    engine = open_engine(home, consent="yes")
    yield engine
    engine.close()


@pytest.fixture
def daemons(home: Home) -> Iterator[Daemons]:
    daemons = Daemons(home)
    yield daemons
    daemons.end()
