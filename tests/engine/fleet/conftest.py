"""A host, or a home that places runs, for each test, in a fleet of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from errands.bootstrap import open_fleet
from errands.engine.fleet.placed_run import LANE
from errands.ports.fleet.membership import Membership, write
from errands.ports.home import Home, boottime, write_fuse
from errands.testing.engines import embedded
from tests.engine.fleet.hosts import HOST, Host
from tests.engine.fleet.laptop import CountedFleet, Laptop, end_all


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


@pytest.fixture
async def laptop(own_home: Path, database: str) -> AsyncIterator[Laptop]:
    own_home.mkdir(0o700, parents=True)
    # Its real host process never reaches a fleet.
    me = Membership(id="h1", url="postgresql://127.0.0.1:1/none", name="laptop", labels=(), slots=0)
    write(Home(path=str(own_home)).fleet, me)
    fleet = CountedFleet(database)
    await fleet.open()
    # What happens was caused by an event: the daemon does not look by itself.
    async with embedded(str(own_home), **{"daemon.tick": "1h"}) as engine:
        laptop = Laptop(engine, fleet, me)
        yield laptop
        for view in await engine.list():
            engine.engine.cancel([view.id])
        await end_all(laptop)
    await fleet.close()
