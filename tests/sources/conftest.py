"""What tests of events stand on: a home, daemons that can be killed, and a project to watch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.ports.home import Home
from errands.testing.engines import TestEngine, embedded
from tests.engine.daemons import Daemons


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(path=str(own_home))


@pytest.fixture
async def engine(home: Home) -> AsyncIterator[TestEngine]:
    async with embedded(home.path, **{"schedules.backoff": "1s"}) as engine:
        yield engine
    Daemons(home).end()  # a recurring task that is left behind starts a daemon


@pytest.fixture
def client(home: Home) -> Iterator[Engine]:
    """The engine of a process that runs no loops, such as a command with `--yes`."""
    engine = open_engine(home, consent="yes")
    yield engine
    engine.close()


@pytest.fixture
def daemons(home: Home) -> Iterator[Daemons]:
    daemons = Daemons(home)
    yield daemons
    daemons.end()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    return project


@pytest.fixture
def config_file(own_home: Path) -> Path:
    """The user's configuration, which does not exist yet."""
    path = Path(f"{own_home}-config") / "errands" / "config.toml"
    path.parent.mkdir(parents=True)
    return path
