"""The wire: offers reach the hosts they are for, as many at once as a host has slots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from tests.hosts.fleets import HOME, Fleet, Host, placed

if TYPE_CHECKING:
    from errands.ports.fleet import Offer


@asynccontextmanager
async def offers_to(host: Host) -> AsyncIterator[asyncio.Queue[Offer]]:
    """Collect what a host is offered."""
    found: asyncio.Queue[Offer] = asyncio.Queue()

    async def collect() -> None:
        async for offer in host.fleet.offers(host=host.facts):
            found.put_nowait(offer)

    task = asyncio.create_task(collect())
    try:
        yield found
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_host_is_offered_as_many_at_once_as_it_has_slots(fleet: Fleet) -> None:
    host = await fleet.host(slots=2)
    numbers = [await fleet.fleet.offer(placed()) for _ in range(5)]
    async with offers_to(host) as found:
        first, second = await found.get(), await found.get()
        assert [first.number, second.number] == numbers[:2]
        for offer in (first, second):
            assert await host.take(offer.number)
        assert fleet.sql("select count(*) from procrastinate_jobs where status = 'doing'") == [(2,)]
        assert found.empty()

        assert await host.finish(first.number)
        first.done()

        third = await found.get()
        assert third.number == numbers[2]
        assert found.empty()


async def test_offers_reach_the_hosts_that_they_ask_for(fleet: Fleet) -> None:
    long = "a label that is much longer than the channels of PostgreSQL may be, and has %s in it"
    big, small = await fleet.host("big", labels=("gpu", long)), await fleet.host("small")
    async with offers_to(big) as to_big, offers_to(small) as to_small:
        for selector, there in [("gpu", to_big), (long, to_big), ("small", to_small), ("big", to_big)]:
            number = await fleet.fleet.offer(placed(selector=selector))
            assert (await there.get()).number == number
        assert to_big.empty()
        assert to_small.empty()


async def test_a_draining_host_is_offered_nothing_until_it_takes_part_again(fleet: Fleet) -> None:
    draining, other = await fleet.host("draining", slots=1), await fleet.host("other", slots=1)
    async with offers_to(draining) as to_draining:
        await fleet.fleet.drain("draining", wanted=True)
        await draining.renew()
        number = await fleet.fleet.offer(placed("a"))
        async with offers_to(other) as to_other:
            assert (await to_other.get()).number == number
        assert await other.take(number)
        assert to_draining.empty()

        await fleet.fleet.drain("draining", wanted=False)
        await draining.renew()
        number = await fleet.fleet.offer(placed("b"))
        assert (await to_draining.get()).number == number


async def test_a_worker_that_the_wire_forgot_goes_on(fleet: Fleet) -> None:
    host = await fleet.host()
    async with offers_to(host) as found:
        await fleet.fleet.offer(placed("a"))
        await found.get()
        fleet.sql("delete from procrastinate_workers")

        number = await fleet.fleet.offer(placed("b"))

        assert (await found.get()).number == number


async def test_a_job_that_was_cleaned_away_disturbs_nobody(fleet: Fleet) -> None:
    host = await fleet.host(slots=1)
    async with offers_to(host) as found:
        first = await fleet.fleet.offer(placed("a"))
        offer = await found.get()
        assert await host.take(first)
        fleet.sql("delete from procrastinate_jobs")
        assert await host.finish(first)
        offer.done()

        second = await fleet.fleet.offer(placed("b"))

        assert (await found.get()).number == second


async def test_a_home_learns_of_every_change_that_concerns_it(fleet: Fleet) -> None:
    """By a notification: the poll in between is switched off."""
    host = await fleet.host()
    from errands.hosts import fleet as implementation

    poll, implementation.POLL = implementation.POLL, 3600.0
    home, there = fleet.fleet.changes(home=HOME), host.fleet.changes(home=host.id)
    try:
        for _ in range(2):  # at once, and when it listens
            await anext(home)
            await anext(there)
        number = await fleet.fleet.offer(placed("a"))
        assert await host.take(number)
        await anext(home)
        assert await host.report(number, progress=1)
        await anext(home)
        await fleet.fleet.follow(number, seconds=10)
        await anext(there)
        await fleet.fleet.cancel(HOME, "a", grace=1)
        await anext(there)
        assert await host.finish(number)
        await anext(home)
        await fleet.fleet.drain("build1", wanted=True)
        await anext(there)
    finally:
        implementation.POLL = poll
        await home.aclose()  # type: ignore[attr-defined]
        await there.aclose()  # type: ignore[attr-defined]


async def test_a_home_looks_now_and_then_without_being_told(fleet: Fleet) -> None:
    changes = fleet.fleet.changes(home=HOME)
    for _ in range(4):
        await anext(changes)
    await changes.aclose()  # type: ignore[attr-defined]
