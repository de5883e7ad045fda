"""A home with a real engine and a real fleet, for the tests of what a home does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from errands.engine.fleet.home_side import AT_ONCE, HomeSide
from errands.hosts.fleet import PostgresFleet
from errands.model.options.draft import Draft
from errands.model.view import View
from errands.ports.fleet import placement
from errands.ports.fleet.membership import Membership
from errands.runners.output.mirror import Mirror, has_ended
from errands.testing.engines import TestEngine, until

if TYPE_CHECKING:
    from errands.ports.fleet import Placed

MANY = 3 * AT_ONCE


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

    async def place(self, count: int, **options: Any) -> list[View]:
        """Submit commands for another host, and wait until the daemon has placed them."""
        drafts = [Draft(command=("true",), host="big", name=f"deed{n}", **options) for n in range(count)]
        views = await self.engine.submit_all(drafts)
        directories = [self.engine.engine.home.run(view.latest.id) for view in views]
        await until(lambda: all(map(placement.read, directories)))
        return views

    async def offered(self) -> list[str]:
        """List the tasks that the fleet has, in the order of their offers."""
        return [each.task for each in reversed(await self.fleet.placed(limit=MANY))]


async def end_all(laptop: Laptop) -> None:
    """Work until this home has the end of every task."""
    async with asyncio.timeout(60):
        while any(view.is_live for view in await laptop.engine.list()):
            await laptop.side.work()
