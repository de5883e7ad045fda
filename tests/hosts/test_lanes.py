"""Lanes and the window: how many runs of a kind the whole fleet runs at once, and in which order."""

from __future__ import annotations

import asyncio
import random

from tests.hosts.fleets import HOME, Fleet, Host, placed


async def offered(fleet: Fleet) -> list[int]:
    """The runs that hosts could take, in the order of the wire."""
    found = fleet.sql(
        "select number from fleet_wire.procrastinate_jobs j join fleet.runs on job = j.id "
        "where state = 'offered' order by j.priority desc, id"
    )
    return [number for (number,) in found]


async def test_a_lane_of_seven_over_four_hosts_is_never_wider(fleet: Fleet) -> None:
    hosts = [await fleet.host(f"host{n}", slots=4) for n in range(4)]
    await fleet.fleet.set_lane("builds", 7)
    numbers = await asyncio.gather(*(fleet.fleet.offer(placed(lane="builds")) for _ in range(60)))
    held: dict[int, Host] = {}
    ended: set[int] = set()
    chosen = random.Random(7)

    async def take(host: Host) -> list[int]:
        mine = [number for number, other in held.items() if other is host]
        for taken in await host.take_next(known=mine):
            held[taken.number] = host
            assert len(held) <= 7
            mine.append(taken.number)
        return mine

    async def work(host: Host) -> None:
        while len(ended) < len(numbers):
            mine = await take(host)
            chosen.shuffle(mine)
            for number in mine[: chosen.randint(0, 4)]:
                held.pop(number)
                assert await host.finish(number)
                ended.add(number)

    await asyncio.gather(*(take(host) for host in hosts))
    assert len(held) == 7
    await asyncio.gather(*(work(host) for host in hosts))
    assert fleet.lanes_are_right()
    assert fleet.sql("select used from fleet.lanes") == [(0,)]


async def test_a_full_lane_does_not_hold_up_another(fleet: Fleet) -> None:
    host = await fleet.host(slots=4)
    await fleet.fleet.set_lane("slow", 1)
    for n in range(20):
        await fleet.fleet.offer(placed(f"slow{n}", lane="slow", priority=1))
    quick = await fleet.fleet.offer(placed("quick", lane="quick", priority=9))

    assert await host.take(quick)
    states = [view.state for view in await fleet.fleet.placed(limit=50) if view.lane == "slow"]
    assert sorted(states) == ["offered"] + ["queued"] * 19


async def test_a_run_that_ends_in_any_way_makes_room_in_its_lane(fleet: Fleet) -> None:
    watcher, host = await fleet.host("watcher"), await fleet.host("build1")
    await fleet.fleet.set_lane("one", 1)
    numbers = [await fleet.fleet.offer(placed(f"r{n}", lane="one")) for n in range(5)]

    assert await host.take(numbers[0])
    assert await host.take(numbers[1]) is None
    await host.finish(numbers[0])
    await fleet.fleet.cancel(HOME, "r1", grace=1)
    assert await host.take(numbers[2])
    await fleet.live(45, watcher)
    assert await watcher.fleet.reap() == 1
    assert await watcher.take(numbers[3])
    await watcher.fleet.leave(watcher.id, watcher.epoch)
    last = await fleet.host("last")
    assert await last.take(numbers[4])
    assert fleet.lanes_are_right()


async def test_a_lane_can_be_made_wider_narrower_and_free_while_it_is_used(fleet: Fleet) -> None:
    host = await fleet.host(slots=10)
    numbers = [await fleet.fleet.offer(placed(f"r{n}", lane="x")) for n in range(10)]
    for number in numbers[:4]:
        assert await host.take(number)

    await fleet.fleet.set_lane("x", 2)
    assert fleet.sql("select width, used from fleet.lanes") == [(2, 10)]
    fleet.pass_time(11)
    await host.renew()
    assert fleet.sql("select width, used from fleet.lanes") == [(2, 4)]
    for number in numbers[:2]:
        await host.finish(number)
    assert await offered(fleet) == []
    await host.finish(numbers[2])
    assert (await fleet.look("r4")).state == "offered"
    assert (await fleet.look("r5")).state == "queued"

    await fleet.fleet.set_lane("x", None)
    assert (await fleet.look("r9")).state == "offered"
    await fleet.fleet.set_lane("x", 0)
    assert (await fleet.fleet.offer(placed("late", lane="x"))) > 0
    assert (await fleet.look("late")).state == "queued"
    assert fleet.lanes_are_right()


async def test_only_twice_as_many_as_there_are_free_slots_are_on_the_wire(fleet: Fleet) -> None:
    host = await fleet.host(slots=3)
    numbers = [await fleet.fleet.offer(placed(f"r{n}")) for n in range(50)]
    assert await offered(fleet) == numbers[:6]

    for number in numbers[:3]:
        assert await host.take(number)

    assert await offered(fleet) == numbers[3:6]
    await host.finish(numbers[0])
    assert await offered(fleet) == numbers[3:6]


async def test_the_lowest_priority_is_first_then_the_oldest(fleet: Fleet) -> None:
    order = [5, 1, 9, 1, 5]
    numbers = [await fleet.fleet.offer(placed(f"r{n}", priority=p)) for n, p in enumerate(order)]
    await fleet.host(slots=1)
    assert await offered(fleet) == [numbers[1], numbers[3]]

    await fleet.host("more", slots=4)

    assert await offered(fleet) == [numbers[1], numbers[3], numbers[0], numbers[4], numbers[2]]


async def test_a_hundred_selectors_and_lanes_are_all_served(fleet: Fleet) -> None:
    for n in range(100):
        await fleet.fleet.offer(placed(f"r{n}", selector=f"label{n % 10}", lane=f"lane{n}"))

    await fleet.host("all", labels=tuple(f"label{n}" for n in range(10)), slots=5)

    assert len(await offered(fleet)) == 100
