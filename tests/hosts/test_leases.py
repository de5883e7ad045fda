"""Leases and epochs: who is given up when, and what becomes of its runs."""

from __future__ import annotations

import re

import pytest

from errands.model.errors import BadValue
from errands.model.record import evolve
from tests.hosts.fleets import HOME, Fleet, placed


async def test_a_host_that_restarts_keeps_its_epoch_and_its_runs(fleet: Fleet) -> None:
    host = await fleet.host("build1")
    number = await fleet.fleet.offer(placed("a"))
    assert await host.take(number)

    again = await fleet.host("build1", slots=8)

    assert again.epoch == host.epoch
    assert [run.number for run in await again.fleet.held(again.id, again.epoch)] == [number]
    assert await again.finish(number)


async def test_a_name_belongs_to_one_host(fleet: Fleet) -> None:
    host = await fleet.host("build1")
    with pytest.raises(BadValue, match="another host of this fleet is named 'build1'"):
        await fleet.fleet.join(evolve(host.facts, id="another"))
    await host.fleet.leave(host.id, host.epoch)
    lease = await fleet.fleet.join(evolve(host.facts, id="another"))
    assert lease.epoch == 1


async def test_a_silent_host_is_given_up_and_its_run_is_lost_visibly(fleet: Fleet) -> None:
    watcher, silent = await fleet.host("watcher"), await fleet.host("silent")
    number = await fleet.fleet.offer(placed("a", policy="lost"))
    assert await silent.take(number)
    await fleet.live(30, watcher)
    assert await watcher.fleet.reap() == 0
    await fleet.live(15, watcher)

    assert await watcher.fleet.reap() == 1

    (view,) = await fleet.fleet.results(HOME)
    assert (view.state, view.host) == ("ended", "silent")
    assert view.outcome is not None
    assert re.fullmatch(r"the host silent was not heard of for \d\d seconds", view.outcome["lost"])
    assert await silent.renew() is None
    assert not await silent.finish(number)
    assert not await silent.report(number, progress=1)
    assert await watcher.fleet.reap() == 0
    assert fleet.lanes_are_right()


async def test_a_run_that_may_run_again_goes_to_another_host(fleet: Fleet) -> None:
    watcher, silent = await fleet.host("watcher"), await fleet.host("silent")
    number = await fleet.fleet.offer(placed("a", policy="again"))
    assert await silent.take(number)
    await fleet.live(45, watcher)
    assert await watcher.fleet.reap() == 1

    found = await watcher.take(number)
    assert found is not None
    assert found.attempt == 2
    assert not await silent.finish(number, 1)
    # Even under its new epoch, what it knows is old.
    silent = await fleet.host("silent")
    assert silent.epoch == 2
    assert not await silent.finish(number, 1)
    assert await watcher.finish(number, 2, exit=0)


async def test_a_run_that_is_lost_again_and_again_is_given_up(fleet: Fleet) -> None:
    host = await fleet.host()
    number = await fleet.fleet.offer(placed("a", policy="again"))
    for attempt in (1, 2, 3):
        taken = await host.take(number)
        assert taken is not None
        assert taken.attempt == attempt
        assert not await host.lose(number, attempt + 1)
        assert (await fleet.look("a")).outcome is None

        assert await host.lose(number, attempt)

        assert fleet.lanes_are_right()
    assert (await fleet.look("a")).outcome == {"lost": "its fuse burned"}
    assert await host.take(number) is None


async def test_what_a_host_lost_is_lost_unless_its_policy_says_otherwise(fleet: Fleet) -> None:
    host = await fleet.host()
    number = await fleet.fleet.offer(placed("a", policy="lost"))
    assert await host.take(number)

    assert await host.lose(number)
    assert await host.lose(number)  # the reply was lost

    assert (await fleet.look("a")).outcome == {"lost": "its fuse burned"}


async def test_what_was_to_be_cancelled_and_is_lost_does_not_run_again(fleet: Fleet) -> None:
    host = await fleet.host()
    number = await fleet.fleet.offer(placed("a", policy="again"))
    assert await host.take(number)
    await fleet.fleet.cancel(HOME, "a", grace=1)

    assert await host.lose(number)

    assert (await fleet.look("a")).state == "ended"


async def test_a_run_that_was_to_be_cancelled_does_not_run_again(fleet: Fleet) -> None:
    watcher, silent = await fleet.host("watcher"), await fleet.host("silent")
    number = await fleet.fleet.offer(placed("a", policy="again"))
    assert await silent.take(number)
    await fleet.fleet.cancel(HOME, "a", grace=1)
    await fleet.live(45, watcher)
    assert await watcher.fleet.reap() == 1

    assert (await fleet.look("a")).outcome == {"stop": "cancel"}


async def test_a_host_whose_lease_is_over_takes_nothing_until_it_renews(
    fleet: Fleet,
) -> None:
    host = await fleet.host()
    number = await fleet.fleet.offer(placed("a"))
    fleet.pass_time(31)
    assert await host.take(number) is None

    assert await host.renew() is not None

    assert await host.take(number)


async def test_a_host_that_just_came_gives_up_nobody(fleet: Fleet) -> None:
    silent = await fleet.host("silent")
    fleet.pass_time(100)
    newcomer = await fleet.host("newcomer")

    assert await newcomer.fleet.reap() == 0
    await fleet.live(25, newcomer)
    assert await newcomer.fleet.reap() == 0
    await fleet.live(10, newcomer)
    assert await newcomer.fleet.reap() == 1
    assert await silent.renew() is None


async def test_a_host_that_was_out_of_touch_itself_gives_up_nobody(fleet: Fleet) -> None:
    """As after an outage of the server, or when its clock is set forward: then all leases look over."""
    hosts = [await fleet.host(f"host{n}") for n in range(3)]
    await fleet.live(60, *hosts)
    fleet.pass_time(3600)
    assert [await host.fleet.reap() for host in hosts] == [0, 0, 0]
    assert await hosts[0].renew()

    assert await hosts[0].fleet.reap() == 0

    assert await hosts[1].renew()
    await fleet.live(60, *hosts[:2])
    assert await hosts[0].fleet.reap() == 1
    assert [host.state for host in await fleet.fleet.hosts()] == ["up", "up", "gone"]


async def test_a_clock_that_is_set_back_keeps_no_dead_host_alive(fleet: Fleet) -> None:
    watcher, silent = await fleet.host("watcher"), await fleet.host("silent")
    await fleet.live(60, watcher, silent)
    fleet.pass_time(-3600)

    await fleet.live(20, watcher)
    assert await watcher.fleet.reap() == 0
    await fleet.live(50, watcher)
    assert await watcher.fleet.reap() == 1
    assert await silent.renew() is None


async def test_only_hosts_of_the_fleet_give_up_others(fleet: Fleet) -> None:
    watcher = await fleet.host("watcher")
    await fleet.host("silent")
    await fleet.live(60, watcher)

    assert await fleet.fleet.reap() == 0
    watcher.fleet._turns.host = (watcher.id, watcher.epoch - 1)
    assert await watcher.fleet.reap() == 0


async def test_what_a_host_that_leaves_still_has_is_lost_at_once(fleet: Fleet) -> None:
    host = await fleet.host("build1")
    number = await fleet.fleet.offer(placed("a"))
    assert await host.take(number)

    await host.fleet.leave(host.id, host.epoch)

    assert (await fleet.look("a")).outcome == {"lost": "the host build1 left the fleet"}
    assert await host.renew() is None
    assert fleet.sql("select state, epoch from fleet.hosts") == [("gone", 2)]


async def test_a_draining_host_finishes_what_it_has_and_takes_nothing(fleet: Fleet) -> None:
    host = await fleet.host("build1")
    first, second = await fleet.fleet.offer(placed("a")), await fleet.fleet.offer(placed("b"))
    assert await host.take(first)

    assert await fleet.fleet.drain("build1", wanted=True)

    orders = await host.renew()
    assert orders is not None
    assert orders.draining
    assert await host.take(second) is None
    assert await host.finish(first)
    assert (await fleet.host("build1")).epoch == host.epoch
    assert await host.take(second) is None

    assert await fleet.fleet.drain("build1", wanted=False)
    assert await host.take(second)
    assert not await fleet.fleet.drain("unknown", wanted=True)


async def test_hosts_are_listed_with_what_they_have(fleet: Fleet) -> None:
    host = await fleet.host("build1", labels=("gpu", "linux"), slots=3)
    await fleet.host("arm1")
    number = await fleet.fleet.offer(placed("a", selector="gpu"))
    assert await host.take(number)
    fleet.pass_time(7, host="build1")

    first, second = await fleet.fleet.hosts()

    assert (first.name, second.name) == ("arm1", "build1")
    assert (second.labels, second.slots, second.running, second.version) == (("gpu", "linux"), 3, 1, "1.0")
    assert 7 <= second.seen < 60


async def test_an_offer_that_nobody_takes_goes_to_others(fleet: Fleet) -> None:
    """Its job may have been lost with the host that was about to take it."""
    one, two = await fleet.host("one", labels=("gpu",)), await fleet.host("two")
    number = await fleet.fleet.offer(placed("a", selector="gpu"))
    fleet.sql("delete from fleet_wire.procrastinate_jobs")
    await two.renew()
    assert fleet.sql("select count(*) from fleet_wire.procrastinate_jobs") == [(0,)]

    await fleet.live(15, one, two)

    assert fleet.sql("select args->>'number' from fleet_wire.procrastinate_jobs") == [(str(number),)]
    await one.fleet.leave(one.id, one.epoch)
    await fleet.live(15, two)
    assert (await fleet.look("a")).state == "queued"
    assert fleet.sql("select count(*) from fleet_wire.procrastinate_jobs") == [(0,)]


async def test_jobs_that_offer_no_run_are_cleaned_away(fleet: Fleet) -> None:
    host = await fleet.host()
    taken, offered = [await fleet.fleet.offer(placed(key)) for key in ("a", "b")]
    assert await host.take(taken)

    await fleet.live(65, host)

    assert fleet.sql("select args->>'number' from fleet_wire.procrastinate_jobs") == [(str(offered),)]


async def test_a_host_whose_lease_is_over_takes_nothing_in_a_turn(fleet: Fleet) -> None:
    host = await fleet.host()
    fleet.pass_time(31)
    await fleet.fleet.offer(placed("a"))

    assert await host.take_next() == []

    await host.renew()
    assert [taken.key for taken in await host.take_next()] == ["a"]


async def names(fleet: Fleet) -> list[str]:
    return [each.name for each in await fleet.fleet.hosts()]


def forget(fleet: Fleet) -> list[str]:
    fleet.sql("select fleet.forget_hosts()")
    return [name for (name,) in fleet.sql("select name from fleet.hosts order by name")]


async def test_a_host_that_left_is_listed_no_more_and_forgotten_when_no_run_names_it(fleet: Fleet) -> None:
    watcher, host = await fleet.host("watcher"), await fleet.host("big")
    number = await fleet.fleet.offer(placed("a"))
    assert await host.take(number)

    await host.fleet.leave(host.id, host.epoch)

    assert await names(fleet) == ["watcher"]
    assert (await fleet.look("a")).host == "big"  # the run still says where it was
    assert forget(fleet) == ["big", "watcher"]
    fleet.sql("delete from fleet.runs")
    await watcher.renew()
    fleet.pass_time(61)
    await watcher.renew()
    assert [name for (name,) in fleet.sql("select name from fleet.hosts")] == ["watcher"]

    assert (await watcher.fleet.join(host.facts)).epoch == 1
    assert await names(fleet) == ["big", "watcher"]


async def test_a_host_that_left_and_comes_back_is_listed_with_a_new_epoch(fleet: Fleet) -> None:
    host = await fleet.host("big")
    await host.fleet.leave(host.id, host.epoch)

    again = await fleet.host("big")

    assert again.epoch > host.epoch
    assert await names(fleet) == ["big"]
    assert await host.renew() is None


async def test_a_host_that_was_given_up_is_listed_for_a_week_or_until_its_name_is_taken(fleet: Fleet) -> None:
    watcher = await fleet.host("watcher")
    await fleet.host("big")
    await fleet.live(45, watcher)
    assert await watcher.fleet.reap() == 1
    assert await names(fleet) == ["watcher", "big"]
    assert forget(fleet) == ["big", "watcher"]

    fleet.pass_time(7 * 24 * 3600, host="big")
    assert await names(fleet) == ["watcher"]
    assert forget(fleet) == ["watcher"]

    small = await fleet.host("small")
    fleet.sql("update fleet.hosts set state = 'gone' where name = 'small'")
    assert await names(fleet) == ["watcher", "small"]
    await fleet.connect().join(evolve(small.facts, id="reinstalled"))
    assert [(each.name, each.state) for each in await fleet.fleet.hosts()] == [
        ("small", "up"),
        ("watcher", "up"),
    ]
