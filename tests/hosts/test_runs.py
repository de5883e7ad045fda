"""Runs of a fleet: offered once, taken by one host at a time, ended once, kept until acknowledged."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from errands.model.record import evolve
from errands.ports.fleet import Stop
from tests.hosts.fleets import HOME, Fleet, Host, placed


async def taken(fleet: Fleet, host: Host, key: str = "a") -> int:
    number = await fleet.fleet.offer(placed(key))
    found = await host.take(number)
    assert found is not None
    return number


async def test_a_run_goes_from_its_home_to_a_host_and_back(fleet: Fleet) -> None:
    host = await fleet.host("build1", labels=("gpu",))
    number = await fleet.fleet.offer(placed("a", selector="gpu", body={"command": ["nvidia-smi"]}))

    found = await host.take(number)
    assert found is not None
    assert (found.attempt, found.home, found.body) == (1, HOME, {"command": ["nvidia-smi"]})
    assert await host.report(number, progress=0.5)
    (view,) = await fleet.fleet.results(HOME)
    assert (view.state, view.host, view.view) == ("taken", "build1", {"progress": 0.5})
    assert await host.finish(number, exit=3)

    (view,) = await fleet.fleet.results(HOME)
    assert (view.key, view.state, view.attempt, view.outcome) == ("a", "ended", 1, {"exit": 3})


async def test_a_run_is_offered_once_however_often_its_home_asks(fleet: Fleet) -> None:
    await fleet.host(slots=20)
    for n in range(20):  # offers of the same run meet in the middle of two unique keys now and then
        numbers = await asyncio.gather(*(fleet.fleet.offer(placed(f"a{n}")) for _ in range(8)))
        assert len(set(numbers)) == 1

    assert fleet.sql("select count(*) from fleet.runs") == [(20,)]
    assert fleet.sql("select count(*) from fleet_wire.procrastinate_jobs") == [(20,)]


async def test_runs_that_are_offered_at_once_are_taken_in_that_order(fleet: Fleet) -> None:
    known = await fleet.fleet.offer(placed("c"))

    numbers = await fleet.fleet.offer_all([placed(key) for key in ("b", "a", "c", "d")])

    assert numbers[2] == known
    host = await fleet.host(slots=4)
    assert [each.key for each in await host.take_next()] == ["c", "b", "a", "d"]


async def test_of_runs_that_are_offered_at_once_all_or_none_are_offered(fleet: Fleet) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        await fleet.fleet.offer_all([placed("a"), placed("b", policy="none")])  # type: ignore[arg-type]

    assert fleet.sql("select count(*) from fleet.runs") == [(0,)]


async def test_text_that_a_database_does_not_take_keeps_no_run_from_it(fleet: Fleet) -> None:
    texts = ["a\udcffb", "c\ud800d", "e\0f", "\\u0000", "\\\0", "möwe 🕊"]
    await fleet.fleet.offer(evolve(placed("a"), body={"texts": texts}))

    ((body,),) = fleet.sql("select body from fleet.runs")
    assert body["texts"] == [
        "a\ufffd\ufffd\ufffdb",
        "c\ufffd\ufffd\ufffdd",
        "e\ufffdf",
        "\\u0000",
        "\\\ufffd",
        "möwe 🕊",
    ]


async def test_two_homes_may_use_the_same_key(fleet: Fleet) -> None:
    one = await fleet.fleet.offer(placed("a"))
    two = await fleet.fleet.offer(evolve(placed("a"), home="home-y"))

    assert one != two


async def test_of_hosts_that_race_for_a_run_one_gets_it(fleet: Fleet) -> None:
    hosts = [await fleet.host(f"host{n}") for n in range(4)]
    for n in range(10):
        number = await fleet.fleet.offer(placed(f"a{n}"))
        answers = await asyncio.gather(*(host.take(number) for host in hosts))
        (winner,) = [host for host, answer in zip(hosts, answers, strict=True) if answer]

        refused = [await host.finish(number) for host in hosts if host is not winner]
        assert refused == [False, False, False]
        assert await winner.finish(number)


async def test_a_host_that_asks_again_gets_the_same_attempt(fleet: Fleet) -> None:
    """It may have died between the answer and what it does with it."""
    host = await fleet.host()
    number = await taken(fleet, host)

    again = await host.take(number)
    assert again is not None
    assert again.attempt == 1
    assert [run.number for run in await host.fleet.held(host.id, host.epoch)] == [number]
    assert fleet.lanes_are_right()


async def test_an_end_is_accepted_once_and_may_be_repeated(fleet: Fleet) -> None:
    host = await fleet.host()
    number = await taken(fleet, host)

    assert await host.finish(number, exit=0)
    assert await host.finish(number, exit=0)
    assert not await host.finish(number, exit=1)
    assert (await fleet.look("a")).outcome == {"exit": 0}


async def test_a_stale_attempt_is_refused(fleet: Fleet) -> None:
    host = await fleet.host()
    number = await taken(fleet, host)

    for attempt in (0, 2):
        assert not await host.finish(number, attempt)
        assert not await host.report(number, attempt, progress=1)
    view = await fleet.look("a")
    assert (view.state, view.view) == ("taken", {})


async def test_a_stale_epoch_is_refused(fleet: Fleet) -> None:
    host = await fleet.host()
    number = await taken(fleet, host)
    other = await fleet.fleet.offer(placed("b"))
    host.epoch -= 1

    assert await host.take(other) is None
    assert await host.renew() is None
    assert not await host.finish(number)
    assert not await host.report(number, progress=1)
    assert await host.fleet.held(host.id, host.epoch) == []
    await host.fleet.leave(host.id, host.epoch)
    assert (await fleet.look("a")).state == "taken"
    assert (await fleet.look("b")).state == "offered"


async def test_a_host_only_gets_what_asks_for_it(fleet: Fleet) -> None:
    await fleet.host("big", labels=("gpu",))
    small = await fleet.host("small", labels=("arm",))
    for selector, may in [("gpu", False), ("big", False), ("arm", True), ("small", True), ("*", True)]:
        number = await fleet.fleet.offer(placed(selector, selector=selector))
        assert (await small.take(number) is not None) == may, selector


async def test_what_nobody_can_run_waits(fleet: Fleet) -> None:
    number = await fleet.fleet.offer(placed("a", selector="gpu"))
    assert (await fleet.look("a")).state == "queued"

    host = await fleet.host("late", labels=("gpu",))

    assert (await fleet.look("a")).state == "offered"
    assert await host.take(number)


@pytest.mark.parametrize("state", ["queued", "offered"])
async def test_cancelling_what_no_host_has_ends_it_at_once(fleet: Fleet, state: str) -> None:
    host = await fleet.host() if state == "offered" else None
    number = await fleet.fleet.offer(placed("a"))
    assert (await fleet.look("a")).state == state

    await fleet.fleet.cancel(HOME, "a", grace=1)

    (view,) = await fleet.fleet.results(HOME)
    assert (view.state, view.outcome) == ("ended", {"stop": "cancel"})
    assert fleet.sql("select count(*) from fleet_wire.procrastinate_jobs") == [(0,)]
    assert host is None or await host.take(number) is None


async def test_cancelling_what_a_host_has_is_an_order_to_it(fleet: Fleet) -> None:
    host = await fleet.host()
    number = await taken(fleet, host)

    await fleet.fleet.cancel(HOME, "a", grace=5)
    await fleet.fleet.cancel(HOME, "a", grace=2)
    await fleet.fleet.cancel(HOME, "a", grace=9)

    orders = await host.renew()
    assert orders is not None
    assert orders.stops == (Stop(number=number, attempt=1, grace=2.0),)
    assert await host.finish(number, stop="cancel")
    orders = await host.renew()
    assert orders is not None
    assert orders.stops == ()


async def test_cancelling_what_ended_or_never_was_changes_nothing(fleet: Fleet) -> None:
    host = await fleet.host()
    number = await taken(fleet, host)
    await host.finish(number, exit=0)

    await fleet.fleet.cancel(HOME, "a", grace=1)
    await fleet.fleet.cancel(HOME, "unknown", grace=1)

    assert (await fleet.look("a")).outcome == {"exit": 0}


async def test_results_are_kept_until_they_are_acknowledged(fleet: Fleet) -> None:
    host = await fleet.host()
    running, ended = await taken(fleet, host, "running"), await taken(fleet, host, "ended")
    await host.finish(ended)
    fleet.pass_time(7 * 86400)
    await host.renew()
    assert {view.key for view in await fleet.fleet.results(HOME)} == {"running", "ended"}

    await fleet.fleet.acknowledge(HOME, ["running", "ended"])

    assert [view.key for view in await fleet.fleet.results(HOME)] == ["running"]
    assert await host.finish(running)
    assert [view.key for view in await fleet.fleet.results(HOME)] == ["running"]
    # From then on they can be looked at for a day.
    fleet.pass_time(3600)
    await host.renew()
    assert (await fleet.look("running")).state == "ended"
    fleet.pass_time(86400)
    await host.renew()
    assert await fleet.fleet.find("ended") == []
    assert (await fleet.look("running")).state == "ended"


async def test_runs_are_found_by_task_and_by_key(fleet: Fleet) -> None:
    await fleet.fleet.offer(placed("a"))
    await fleet.fleet.offer(placed("b"))

    assert [view.key for view in await fleet.fleet.find("task-1")] == ["b", "a"]
    assert [view.key for view in await fleet.fleet.find("a")] == ["a"]
    assert [view.key for view in await fleet.fleet.placed(limit=1)] == ["b"]
