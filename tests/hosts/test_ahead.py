"""Taking ahead: a host whose runs are short has the next ones at hand, and holds up nothing with it."""

from __future__ import annotations

import asyncio

import pytest

from tests.hosts.fleets import HOME, Fleet, Host, placed
from tests.hosts.test_wire import runs_of

pytestmark = pytest.mark.spec("X12")

AGENT = {"prompt": "look"}


async def full(fleet: Fleet, name: str = "build1", *, slots: int = 2) -> tuple[Host, list[int]]:
    """Return a host, and the runs that fill its slots."""
    host = await fleet.host(name, slots=slots)
    for n in range(slots):
        await fleet.fleet.offer(placed(f"{name} {n}"))
    taken = await host.take_next()
    assert len(taken) == slots
    assert not any(each.ahead for each in taken)
    return host, [each.number for each in taken]


async def offered(fleet: Fleet, *keys: str) -> list[int]:
    return [await fleet.fleet.offer(placed(key)) for key in keys]


async def test_a_host_takes_as_many_ahead_as_it_wants(fleet: Fleet) -> None:
    host = await fleet.host(slots=4)
    for _ in range(20):
        await fleet.fleet.offer(placed())
    wanted = [0]

    async with runs_of(host, ahead=lambda: wanted[0]) as found:
        first = [await found.get() for _ in range(4)]
        wanted[0] = 3
        await asyncio.gather(*(host.finish(each.number) for each in first))
        second = [await found.get() for _ in range(7)]
        assert [each.ahead for each in second] == [False] * 4 + [True] * 3
        assert found.empty()

    assert fleet.sql("select count(*) from fleet.runs where state = 'taken'") == [(7,)]
    (view,) = await fleet.fleet.hosts()
    assert view.running == 4, "what waits does not run"


async def test_what_is_taken_ahead_is_next_in_order(fleet: Fleet) -> None:
    host, has = await full(fleet)
    numbers = await offered(fleet, *"abcde")

    ahead = await host.take_next(known=has, ahead=3)

    assert [each.number for each in ahead] == numbers[:3]
    assert all(each.ahead for each in ahead)
    assert await host.take_next(known=[*has, *numbers[:3]], ahead=3) == []


async def test_nothing_is_taken_ahead_of_a_run_that_needs_a_slot_at_once(fleet: Fleet) -> None:
    host, has = await full(fleet)
    (first,) = await offered(fleet, "a")
    await fleet.fleet.offer(placed("agent", body=AGENT))
    await offered(fleet, "b")
    assert [each.number for each in await host.take_next(known=has, ahead=5)] == [first]

    assert await host.take_next(known=[*has, first], ahead=5) == []

    for each in (first, *has):
        assert await host.finish(each)
    assert [each.key for each in await host.take_next(ahead=5)] == ["agent", "b"]


async def test_nothing_is_taken_ahead_in_a_lane_with_a_limit_nor_of_it(fleet: Fleet) -> None:
    host, has = await full(fleet)
    await fleet.fleet.set_lane("narrow", 1)
    await fleet.fleet.offer(placed("narrow 1", lane="narrow"))
    await fleet.fleet.offer(placed("narrow 2", lane="narrow"))
    await offered(fleet, "a", "b")
    assert await host.take_next(known=has, ahead=5) == []

    fleet.sql("update fleet.hosts set slots = 3")
    taken = await host.take_next(known=has, ahead=5)

    # The lane is full now, and what waits in it keeps nothing else from being taken.
    assert [(each.key, each.ahead) for each in taken] == [("narrow 1", False), ("a", True), ("b", True)]
    assert fleet.lanes_are_right()


async def test_what_another_host_was_offered_is_not_overtaken(fleet: Fleet) -> None:
    host, has = await full(fleet)
    await fleet.host("idle", slots=1)
    await offered(fleet, "a", "b", "c")
    assert (await fleet.look("a")).state == "offered"

    assert await host.take_next(known=has, ahead=5) == []


async def test_its_home_does_not_know_of_it_before_it_goes_on_or_ends(fleet: Fleet) -> None:
    host, has = await full(fleet)
    short, long, waiting = await offered(fleet, "short", "long", "waiting")
    await host.take_next(known=has, ahead=3)

    assert await host.finish(short)
    assert await host.report(long)

    known = {each.key: each.state for each in await fleet.fleet.results(HOME)}
    assert known == {"build1 0": "taken", "build1 1": "taken", "short": "ended", "long": "taken"}
    assert {each.number for each in await host.fleet.held(host.id, host.epoch)} == {*has, long, waiting}


async def test_what_is_given_back_is_the_next_that_another_host_takes(fleet: Fleet) -> None:
    host, has = await full(fleet)
    first, second = await offered(fleet, "a", "b")
    await host.take_next(known=has, ahead=1)
    other = await fleet.host("other", slots=1)

    async with runs_of(other) as found:
        assert (await found.get()).number == second
        assert await host.give_back(first)
        assert await other.finish(second)
        taken = await found.get()

    assert (taken.number, taken.attempt, taken.ahead) == (first, 2, False)
    assert not await host.finish(first), "it has no part in it any more"
    assert not await host.give_back(first), "it has no part in it any more"
    assert await other.finish(first, 2)
    assert fleet.lanes_are_right()


async def test_giving_back_is_no_loss(fleet: Fleet) -> None:
    """A run that was lost three times is not begun again, however often it was given back before."""
    host, has = await full(fleet)
    number = await fleet.fleet.offer(placed("a", policy="again"))
    for attempt in range(1, 5):
        (taken,) = await host.take_next(known=has, ahead=1)
        assert taken.attempt == attempt
        assert await host.give_back(number, attempt)
    for attempt in (5, 6):
        await host.take_next(known=has, ahead=1)
        assert await host.lose(number, attempt)
        assert (await fleet.look("a")).state == "queued"
    await host.take_next(known=has, ahead=1)
    assert await host.lose(number, 7)
    assert (await fleet.look("a")).state == "ended"


async def test_a_run_that_is_cancelled_while_it_is_given_back_ends(fleet: Fleet) -> None:
    host, has = await full(fleet)
    (number,) = await offered(fleet, "a")
    await host.take_next(known=has, ahead=1)
    await fleet.fleet.cancel(HOME, "a", grace=1)

    assert await host.give_back(number)

    assert (await fleet.look("a")).outcome == {"stop": "cancel"}


async def test_a_run_that_is_paused_while_it_is_given_back_waits_until_it_continues(fleet: Fleet) -> None:
    host, has = await full(fleet)
    (number,) = await offered(fleet, "a")
    await host.take_next(known=has, ahead=1)
    await fleet.fleet.pause(HOME, "a", wanted=True)
    assert await host.give_back(number)
    assert await host.take_next(known=has, ahead=1) == []

    await fleet.fleet.pause(HOME, "a", wanted=False)

    assert [each.number for each in await host.take_next(known=has, ahead=1)] == [number]
    assert fleet.lanes_are_right()


async def test_the_runs_of_a_host_that_is_given_up_may_have_begun(fleet: Fleet) -> None:
    host, has = await full(fleet)
    await offered(fleet, "a")
    await host.take_next(known=has, ahead=1)

    await host.fleet.leave(host.id, host.epoch)

    assert "lost" in ((await fleet.look("a")).outcome or {})
