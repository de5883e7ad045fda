"""Input and pauses of placed runs: what the home wants reaches the host that has the run, and no other."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from errands.ports.fleet import Orders
from errands.ports.fleet.input import KEPT_BACK, Input
from tests.hosts.fleets import Fleet, Host, placed

HOME = placed("a").home


def piece(number: int, content: bytes, *, is_last: bool = False) -> Input:
    return Input(piece=number, content=content, is_last=is_last)


async def orders_of(host: Host) -> Orders:
    orders = await host.renew()
    assert orders is not None
    return orders


@pytest.mark.spec("L24", "X12")
async def test_input_is_stored_once_and_answered_by_the_host_that_has_the_run(
    fleet: Fleet, host: Host
) -> None:
    number = await fleet.fleet.offer(placed("a"))
    assert await host.take(number)
    other = await fleet.host("other")
    assert (await orders_of(host)).inputs == ()
    pieces = [piece(1, bytes(range(256))), piece(2, b"", is_last=True)]
    for each in (*pieces, piece(1, b"something else")):
        await fleet.fleet.send(HOME, "a", each)

    assert (await orders_of(host)).inputs == ((number, 2),)
    assert (await orders_of(other)).inputs == ()
    assert await host.fleet.inputs(number, since=0) == pieces
    assert await host.fleet.inputs(number, since=1) == pieces[1:]

    said = {"attempt": 1, "piece": 1}
    assert not await other.fleet.answer_input(number, host=other.id, epoch=other.epoch, reply="no", **said)
    for reply in ("", "too late"):
        assert await host.fleet.answer_input(number, host=host.id, epoch=host.epoch, reply=reply, **said)
    assert await fleet.fleet.input_replies(number, since=0) == {1: ""}
    assert await host.fleet.inputs(number, since=0) == [piece(1, b""), pieces[1]]


@pytest.mark.spec("L24", "X12")
async def test_input_of_a_run_that_may_begin_anew_is_kept_for_that(fleet: Fleet, host: Host) -> None:
    number = await fleet.fleet.offer(placed("a", policy="again"))
    assert await host.take(number)
    await fleet.fleet.send(HOME, "a", piece(1, b"one"))

    assert await host.fleet.answer_input(number, attempt=1, host=host.id, epoch=host.epoch, piece=1, reply="")

    assert await host.fleet.inputs(number, since=0) == [piece(1, b"one")]


@pytest.mark.spec("L28", "X12")
async def test_a_pause_is_an_order_until_it_is_over(fleet: Fleet, host: Host) -> None:
    number = await fleet.fleet.offer(placed("a"))
    assert await host.take(number)

    for wanted in (True, False):
        for _ in range(2):
            await fleet.fleet.pause(HOME, "a", wanted=wanted)
        assert (await orders_of(host)).pauses == ((number, wanted),)
    assert await host.finish(number, code=0)
    assert (await orders_of(host)).pauses == ()
    await fleet.fleet.pause(HOME, "a", wanted=True)  # too late
    assert fleet.sql("select paused from fleet.runs") == [(False,)]


@pytest.mark.spec("L28", "X12")
@pytest.mark.parametrize("is_offered", [True, False])
async def test_a_run_that_no_host_has_is_kept_from_all_while_it_is_paused(
    fleet: Fleet, is_offered: bool
) -> None:
    await fleet.fleet.set_lane("default", 1 if is_offered else 0)
    host = await fleet.host("build1")
    number = await fleet.fleet.offer(placed("a"))
    state = fleet.sql("select state from fleet.runs")
    assert state == [("offered" if is_offered else "queued",)]

    await fleet.fleet.pause(HOME, "a", wanted=True)
    await fleet.fleet.pause(HOME, "a", wanted=True)
    await fleet.fleet.set_lane("default", 1)

    assert await host.take_next() == []
    assert (await fleet.look("a")).selector == KEPT_BACK
    assert fleet.lanes_are_right()
    await fleet.fleet.pause(HOME, "a", wanted=False)
    assert [each.number for each in await host.take_next()] == [number]
    assert fleet.lanes_are_right()


async def test_a_paused_run_that_no_host_has_is_cancelled(fleet: Fleet, host: Host) -> None:
    await fleet.fleet.offer(placed("a"))
    await fleet.fleet.pause(HOME, "a", wanted=True)

    await fleet.fleet.cancel(HOME, "a", grace=1)

    assert (await fleet.look("a")).state == "ended"
    assert fleet.lanes_are_right()


@pytest.mark.spec("L28", "X12")
async def test_a_paused_run_leaves_its_slot_and_its_lane_to_others(fleet: Fleet) -> None:
    await fleet.fleet.set_lane("default", 1)
    host = await fleet.host("build1", slots=1)
    number = await fleet.fleet.offer(placed("a"))
    other = await fleet.fleet.offer(placed("b"))
    assert [each.number for each in await host.take_next()] == [number]
    assert await host.take_next(known=[number]) == []

    await fleet.fleet.pause(HOME, "a", wanted=True)

    assert [(each.running, each.waiting) for each in await fleet.fleet.lanes()] == [(1, 0)]  # b is offered
    assert [each.number for each in await host.take_next(known=[number])] == [other]
    assert [each.running for each in await fleet.fleet.hosts()] == [1]
    assert fleet.lanes_are_right()
    # It goes on at once, whether there is room or not.
    await fleet.fleet.pause(HOME, "a", wanted=False)
    assert [each.running for each in await fleet.fleet.hosts()] == [2]
    assert fleet.sql("select used from fleet.lanes") == [(2,)]
    third = await fleet.fleet.offer(placed("c"))
    assert await host.finish(number)
    assert await host.take_next(known=[other]) == []
    assert await host.finish(other)
    assert [each.number for each in await host.take_next()] == [third]
    assert fleet.lanes_are_right()


@pytest.mark.spec("L28", "X12")
@pytest.mark.parametrize("end", ["finish", "lose", "give up", "cancel"])
async def test_a_paused_run_that_ends_has_left_its_lane_before(fleet: Fleet, end: str) -> None:
    await fleet.fleet.set_lane("default", 3)
    host = await fleet.host("build1")
    number = await fleet.fleet.offer(placed("a"))
    assert await host.take(number)
    await fleet.fleet.pause(HOME, "a", wanted=True)

    match end:
        case "finish":
            assert await host.finish(number)
        case "lose":
            assert await host.lose(number)
        case "give up":
            await host.fleet.leave(host.id, host.epoch)
        case _:
            await fleet.fleet.cancel(HOME, "a", grace=1)
            assert await host.finish(number, stop="cancel")

    assert (await fleet.look("a")).state == "ended"
    assert fleet.sql("select used from fleet.lanes") == [(0,)]


@pytest.mark.spec("L28", "X12")
@pytest.mark.parametrize("is_given_up", [True, False])
async def test_a_paused_run_whose_host_is_lost_waits_until_it_is_to_go_on(
    fleet: Fleet, is_given_up: bool
) -> None:
    await fleet.fleet.set_lane("default", 3)
    host, other = await fleet.host("build1"), await fleet.host("other")
    number = await fleet.fleet.offer(placed("a", policy="again"))
    assert await host.take_next()
    await fleet.fleet.pause(HOME, "a", wanted=True)

    if is_given_up:
        await host.fleet.leave(host.id, host.epoch)
    else:
        assert await host.lose(number)

    assert await other.take_next() == []
    assert fleet.lanes_are_right()
    await fleet.fleet.pause(HOME, "a", wanted=False)
    assert [(each.number, each.attempt) for each in await other.take_next()] == [(number, 2)]
    assert fleet.lanes_are_right()


@pytest.mark.spec("L28", "X12")
async def test_a_host_takes_more_as_soon_as_it_knows_of_a_pause(fleet: Fleet) -> None:
    host = await fleet.host("build1", slots=1)
    number, other = await fleet.fleet.offer(placed("a")), await fleet.fleet.offer(placed("b"))
    async with aclosing(host.fleet.taken(host=host.facts)) as runs:  # type: ignore[type-var]
        assert (await anext(runs)).number == number
        await fleet.fleet.pause(HOME, "a", wanted=True)
        await host.renew()

        assert (await asyncio.wait_for(anext(runs), 60)).number == other
