"""What tests of channels stand on: a home, its outbox, and a notifier whose clock is turned by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.ports.home import Home
from tests.channels.outbox import Outbox
from tests.engine.daemons import Daemons


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(path=str(own_home))


@pytest.fixture
def client(home: Home) -> Iterator[Engine]:
    """The engine of a process that runs no loops, such as a command with `--yes`."""
    engine = open_engine(home, consent="yes")
    yield engine
    engine.close()


@pytest.fixture
def outbox(client: Engine) -> Outbox:
    return Outbox(client)


@pytest.fixture
def daemons(home: Home) -> Iterator[Daemons]:
    daemons = Daemons(home)
    yield daemons
    daemons.end()


@pytest.fixture
def config_file(own_home: Path) -> Path:
    """The user's configuration, which does not exist yet."""
    path = Path(f"{own_home}-config") / "errands" / "config.toml"
    path.parent.mkdir(parents=True)
    return path
