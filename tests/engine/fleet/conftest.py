"""A host for each test, in a fleet of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from errands.bootstrap import open_fleet
from errands.engine.fleet.placed_run import LANE
from errands.ports.home import boottime, write_fuse
from errands.testing.engines import embedded
from tests.engine.fleet.hosts import HOST, Host


@pytest.fixture
async def host(own_home: Path, database: str, tmp_path: Path) -> AsyncIterator[Host]:
    fleet = open_fleet(database)
    await fleet.open()
    lease = await fleet.join(HOST)
    async with embedded(str(own_home)) as engine:
        engine.engine.queue.set_lane(LANE, 2)
        write_fuse(engine.engine.home.fuse, boottime() + 3600)
        folder = tmp_path / "work"
        folder.mkdir()
        yield Host(engine, fleet, lease.epoch, folder, database)
    await fleet.close()
