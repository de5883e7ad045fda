"""An engine that retries soon, and a project to watch, for tests of events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from errands.ports.home import Home
from errands.testing.engines import TestEngine, embedded
from tests.engine.daemons import Daemons


@pytest.fixture
async def engine(home: Home) -> AsyncIterator[TestEngine]:
    async with embedded(home.path, **{"schedules.backoff": "1s"}) as engine:
        yield engine
    Daemons(home).end()  # a recurring task that is left behind starts a daemon


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    return project
