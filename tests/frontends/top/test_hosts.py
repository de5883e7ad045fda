"""The hosts of the fleet, below the lanes."""

from __future__ import annotations

import pytest

from errands.bootstrap import open_fleet
from errands.engine.fleet import member
from errands.hosts import connections
from errands.model.record import evolve
from errands.ports.fleet import membership
from errands.ports.home import Home
from errands.testing.engines import TestEngine
from tests.frontends.top.viewer import viewing
from tests.hosts.fleets import facts

pytestmark = pytest.mark.spec("X12")


async def test_hosts_stand_below_the_lanes_and_stay_there_when_the_fleet_does_not_answer(
    engine: TestEngine, home: Home, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with viewing(home, size=(100, 30)) as viewer:
        await viewer.press("5")
        await viewer.shows("shell ")
        assert "HOSTS" not in viewer.screen

        me = await member.join(engine.engine, open_fleet, database, name="laptop", labels=(), slots=0)
        fleet = open_fleet(database)
        await fleet.open()
        await fleet.join(evolve(facts("big", labels=("gpu",)), version="9.8.7"))
        await fleet.drain("big", wanted=True)
        await fleet.close()
        await viewer.shows("HOSTS · 1", "big", "0 of 4 · draining · gpu · seen ", " s ago · 9.8.7")

        monkeypatch.setattr(connections, "PATIENCE", 0.5)
        nowhere = f"postgresql://nobody@/gone?host={home.path}"  # there is no socket
        membership.write(home.fleet, evolve(me, url=nowhere))
        await viewer.shows("the fleet's database (gone at", "big", "HOSTS · 1")

        await viewer.press("G", "=")
        assert not viewer.app.is_asking  # a host has no width to set
        await viewer.press("g", "=")
        assert viewer.app.is_asking
