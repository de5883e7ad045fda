"""A fleet for each test, in an empty database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from errands.hosts.fleet import PostgresFleet
from tests.hosts.fleets import Fleet, Host, placed
from tests.postgres import Server


@pytest.fixture
async def fleet(postgres: Server, database: str) -> AsyncIterator[Fleet]:
    made = PostgresFleet(database)
    await made.open()
    name = database.partition("@/")[2].partition("?")[0]
    found = Fleet(made, postgres, name)
    yield found
    await found.close()


@pytest.fixture
async def host(fleet: Fleet) -> Host:
    return await fleet.host("build1")


@pytest.fixture
async def number(fleet: Fleet, host: Host) -> int:
    """A run that this host has taken."""
    number = await fleet.fleet.offer(placed("a"))
    assert await host.take(number)
    return number
