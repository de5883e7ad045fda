"""The home side with many runs: several are offered or recorded at once, and a cancellation does not wait."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from errands.engine.fleet import home_side
from errands.engine.fleet.home_side import AT_ONCE, HomeSide
from errands.hosts.fleet import PostgresFleet
from errands.model.options.draft import Draft
from errands.model.view import View
from errands.ports.fleet import HostFacts, placement
from errands.ports.fleet.membership import Membership, write
from errands.ports.home import Home
from errands.runners.output.mirror import Mirror, has_ended
from errands.testing.engines import TestEngine, embedded, until

if TYPE_CHECKING:
    from errands.ports.fleet import Placed

pytestmark = pytest.mark.spec("X12")

MANY = 3 * AT_ONCE
HOST = HostFacts(id="h2", name="big", labels=(), slots=MANY, version="0", boot="b")


class CountedFleet(PostgresFleet):
    """A real fleet that notes how many runs came with each call."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.offers: list[int] = []

    async def offer_all(self, several: Sequence[Placed]) -> list[int]:
        self.offers.append(len(several))
        return await super().offer_all(several)


class Laptop:
    """A home with a real engine and a real fleet, whose host process the test is."""

    def __init__(self, engine: TestEngine, fleet: CountedFleet, me: Membership) -> None:
        self.engine = engine
        self.fleet = fleet
        self.side = HomeSide(engine.engine, fleet, me, Mirror, has_ended)

    async def place(self, count: int) -> list[View]:
        """Submit commands for another host, and wait until the daemon has placed them."""
        drafts = [Draft(command=("true",), host="big", name=f"deed{n}") for n in range(count)]
        views = await self.engine.submit_all(drafts)
        directories = [self.engine.engine.home.run(view.latest.id) for view in views]
        await until(lambda: all(map(placement.read, directories)))
        return views

    async def offered(self) -> list[str]:
        """List the tasks that the fleet has, in the order of their offers."""
        return [each.task for each in reversed(await self.fleet.placed(limit=MANY))]


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


async def end_all(laptop: Laptop) -> None:
    """Work until this home has the end of every task."""
    while any(view.is_live for view in await laptop.engine.list()):
        await laptop.side.work()


async def test_many_runs_are_offered_a_few_at_once_and_in_order(laptop: Laptop) -> None:
    views = await laptop.place(MANY)

    await laptop.side.work()

    assert await laptop.offered() == [view.id for view in views]
    assert laptop.fleet.offers == [AT_ONCE] * 3
    assert not laptop.side.is_behind


async def test_a_cancellation_does_not_wait_for_all_that_is_to_be_offered(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home_side, "OFFERING", -1.0)  # no time for more than one call
    views = await laptop.place(MANY)
    laptop.engine.engine.cancel([views[-1].id])

    await laptop.side.work()

    behind = [laptop.side.is_behind]
    assert await laptop.offered() == [views[-1].id, *(view.id for view in views[: AT_ONCE - 1])]
    assert [each.task for each in await laptop.fleet.placed(limit=MANY) if each.outcome] == [views[-1].id]
    for _ in range(2):
        await laptop.side.work()
        behind.append(laptop.side.is_behind)
    assert behind == [True, True, False]
    assert sorted(await laptop.offered()) == sorted(view.id for view in views)


async def test_the_daemon_is_told_of_many_ends_a_few_times(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await laptop.place(MANY)
    await laptop.side.work()
    lease = await laptop.fleet.join(HOST)
    runs = laptop.fleet.taken(host=HOST)
    for _ in range(MANY):
        taken = await anext(runs)
        assert await laptop.fleet.finish(
            taken.number, attempt=taken.attempt, host=HOST.id, epoch=lease.epoch, outcome={"code": 0}
        )
    await runs.aclose()  # type: ignore[attr-defined]
    rung: list[int] = []
    ring = laptop.engine.engine.bell.ring_about

    def count(tasks: Sequence[str]) -> None:
        rung.append(len(tasks))
        ring(tasks)

    monkeypatch.setattr(laptop.engine.engine.bell, "ring_about", count)

    await laptop.side.work()

    assert rung == [AT_ONCE] * 3
    await until(lambda: not laptop.engine.engine.running())
    assert {view.state for view in await laptop.engine.list()} == {"completed"}
