"""The wire: runs reach the hosts they are for, as many at once as a host has slots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from tests.hosts.fleets import HOME, Fleet, Host, placed

if TYPE_CHECKING:
    from errands.ports.fleet import Taken


@asynccontextmanager
async def runs_of(host: Host, *, ahead: Callable[[], int] = int) -> AsyncIterator[asyncio.Queue[Taken]]:
    """Collect what a host takes."""
    found: asyncio.Queue[Taken] = asyncio.Queue()

    async def collect() -> None:
        async for taken in host.fleet.taken(host=host.facts, ahead=ahead):
            found.put_nowait(taken)

    task = asyncio.create_task(collect())
    try:
        yield found
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_host_takes_as_many_at_once_as_it_has_slots(fleet: Fleet) -> None:
    host = await fleet.host(slots=2)
    numbers = [await fleet.fleet.offer(placed()) for _ in range(5)]
    async with runs_of(host) as found:
        first, second = await found.get(), await found.get()
        assert [first.number, second.number] == numbers[:2]
        assert await host.take_next(known=numbers) == []
        assert found.empty()

        assert await host.finish(first.number)

        third = await found.get()
        assert third.number == numbers[2]
        assert found.empty()
    assert fleet.sql("select count(*) from fleet.runs where state = 'taken'") == [(2,)]


async def test_a_host_that_starts_again_counts_what_it_has(fleet: Fleet) -> None:
    host = await fleet.host(slots=2)
    for _ in range(3):
        await fleet.fleet.offer(placed())
    taken = await host.take_next()
    assert len(taken) == 2

    again = await fleet.host(slots=2)

    assert {run.number for run in await again.take_next()} == {run.number for run in taken}
    assert await again.take_next(known=[run.number for run in taken]) == []


async def test_what_a_lost_reply_took_comes_again(fleet: Fleet) -> None:
    host = await fleet.host(slots=2)
    number = await fleet.fleet.offer(placed())
    assert await host.take_next()  # and nobody reads the reply

    async with runs_of(host) as found:
        taken = await found.get()
        assert (taken.number, taken.attempt) == (number, 1)
        assert await host.finish(number)


async def test_a_busy_host_takes_what_is_queued_in_order_without_an_offer(fleet: Fleet) -> None:
    host = await fleet.host(slots=1)
    await fleet.fleet.set_lane("narrow", 0)
    await fleet.fleet.offer(placed("first"))
    order = []

    async with runs_of(host) as found:
        taken = await found.get()
        await fleet.fleet.offer(placed("full", lane="narrow", priority=0))
        await fleet.fleet.offer(placed("another host's", priority=0, selector="gpu"))
        for key, priority, selector in [("c", 5, "*"), ("d", 5, "build1"), ("a", 1, "*"), ("b", 3, "build1")]:
            await fleet.fleet.offer(placed(key, priority=priority, selector=selector, lane=key))
        for _ in range(4):
            assert fleet.sql("select count(*) from procrastinate_jobs") == [(0,)]
            assert await host.finish(taken.number)
            taken = await found.get()
            order.append(taken.key)

    assert order == ["a", "b", "c", "d"]
    assert (await fleet.look("full")).state == "queued"
    assert fleet.lanes_are_right()


async def test_a_turn_takes_as_many_as_fit_in_order_even_if_the_host_is_named_like_its_label(
    fleet: Fleet,
) -> None:
    host = await fleet.host(labels=("build1", "gpu"), slots=6)
    await fleet.fleet.set_lane("narrow", 2)
    fleet.sql("update fleet.hosts set state = 'draining'")  # so that nothing is offered on the wire
    for n in range(4):
        await fleet.fleet.offer(placed(f"n{n}", lane="narrow", selector="build1"))
    for n in range(6):
        await fleet.fleet.offer(placed(f"w{n}"))
    fleet.sql("update fleet.hosts set state = 'up'")

    taken = await host.take_next()

    assert [each.key for each in taken] == ["n0", "n1", "w0", "w1", "w2", "w3"]
    assert fleet.lanes_are_right()
    assert await host.take_next(known=[each.number for each in taken]) == []
    for each in taken[:4]:
        assert await host.finish(each.number)
    rest = await host.take_next(known=[each.number for each in taken[4:]])
    assert {each.key for each in rest} == {"n2", "n3", "w4", "w5"}
    assert fleet.lanes_are_right()


async def test_what_ends_at_once_is_recorded_in_one_turn(fleet: Fleet) -> None:
    host = await fleet.host(slots=8)
    numbers = [await fleet.fleet.offer(placed(f"a{n}")) for n in range(8)]
    assert len(await host.take_next()) == 8
    others = await fleet.host("other")

    ends = [host.finish(number, exit=n) for n, number in enumerate(numbers)]
    wrong = [others.finish(numbers[0]), host.finish(numbers[0], 2), host.finish(numbers[1], 1, exit=99)]
    answers = await asyncio.gather(*ends, *wrong)

    assert answers == [True] * 8 + [False] * 3
    for n in range(8):
        assert (await fleet.look(f"a{n}")).outcome == {"exit": n}
    moments = fleet.sql("select count(distinct xmin::text) from fleet.runs where state = 'ended'")
    assert moments[0][0] <= 2  # the first one does not wait for the others


async def test_runs_reach_the_hosts_that_they_ask_for(fleet: Fleet) -> None:
    long = "a label that is much longer than the channels of PostgreSQL may be, and has %s in it"
    big, small = await fleet.host("big", labels=("gpu", long)), await fleet.host("small")
    async with runs_of(big) as to_big, runs_of(small) as to_small:
        for selector, there in [("gpu", to_big), (long, to_big), ("small", to_small), ("big", to_big)]:
            number = await fleet.fleet.offer(placed(selector=selector))
            assert (await there.get()).number == number
        assert to_big.empty()
        assert to_small.empty()


async def test_a_draining_host_takes_nothing_until_it_takes_part_again(fleet: Fleet) -> None:
    draining, other = await fleet.host("draining", slots=1), await fleet.host("other", slots=1)
    async with runs_of(draining) as to_draining:
        await fleet.fleet.drain("draining", wanted=True)
        await draining.renew()
        number = await fleet.fleet.offer(placed("a"))
        assert await draining.take_next() == []
        async with runs_of(other) as to_other:
            assert (await to_other.get()).number == number
        assert to_draining.empty()

        await fleet.fleet.drain("draining", wanted=False)
        await draining.renew()
        number = await fleet.fleet.offer(placed("b"))
        assert (await to_draining.get()).number == number


async def test_an_offer_whose_job_was_cleaned_away_is_made_again(fleet: Fleet) -> None:
    host = await fleet.host(slots=1)
    number = await fleet.fleet.offer(placed("a"))
    fleet.sql("delete from procrastinate_jobs")
    assert await host.take_next() == []

    fleet.pass_time(15)
    assert await host.renew()

    (taken,) = await host.take_next()
    assert taken.number == number


async def test_an_offer_without_a_job_is_made_again_although_the_clock_was_set_back(fleet: Fleet) -> None:
    host = await fleet.host(slots=1)
    number = await fleet.fleet.offer(placed("a"))
    fleet.sql("delete from procrastinate_jobs")
    fleet.sql("update fleet.runs set offered = offered + interval '1 hour'")

    assert await host.renew()

    (taken,) = await host.take_next()
    assert taken.number == number


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
        await fleet.fleet.follow([number], seconds=10)
        await anext(there)
        await fleet.fleet.cancel(HOME, "a", grace=1)
        await anext(there)
        assert await host.finish(number)
        await anext(home)
        await fleet.fleet.drain("build1", wanted=True)
        await anext(there)
    finally:
        implementation.POLL = poll
        await home.aclose()
        await there.aclose()


async def test_a_home_looks_now_and_then_without_being_told(fleet: Fleet) -> None:
    changes = fleet.fleet.changes(home=HOME)
    for _ in range(4):
        await anext(changes)
    await changes.aclose()
