"""What engine tests stand on: a home, an engine embedded in the test, daemons that can be killed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.testing.engines import TestEngine, embedded
from tests.engine.agent_project import Project
from tests.engine.daemons import Daemons


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(path=str(own_home))


@pytest.fixture
async def engine(home: Home) -> AsyncIterator[TestEngine]:
    async with embedded(home.path) as engine:
        yield engine


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
def project(tmp_path: Path, own_home: Path) -> Project:
    return Project(tmp_path / "project", Path(f"{own_home}-config"))


@pytest.fixture
def asking(home: Home) -> Iterator[Engine]:
    """The engine of a caller who consents to nothing."""
    engine = open_engine(home)
    yield engine
    engine.close()


@pytest.fixture
def harm(tmp_path: Path) -> Draft:
    """What cannot be undone, on a file of our own."""
    victim = tmp_path / "victim"
    victim.touch()
    return Draft(command=("rm", str(victim)))
