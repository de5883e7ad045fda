"""Servers that restart, are replaced or stop answering: nobody is given up in a hurry, and all goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import pytest

from errands.hosts import connections
from errands.hosts.fleet import PostgresFleet
from errands.model.errors import FleetUnreachable
from errands.model.record import evolve
from tests.hosts.fleets import HOME, Fleet, Host, placed
from tests.postgres import DURABLE, Server, running

if TYPE_CHECKING:
    from errands.ports.fleet import LossPolicy

pytestmark = [pytest.mark.spec("X12"), pytest.mark.postgres]


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of this test alone, because it is stopped."""
    with running(settings=DURABLE) as server:
        yield server


@pytest.fixture
async def fleet(server: Server) -> AsyncIterator[Fleet]:
    name = server.create_database()
    made = PostgresFleet(server.url(name))
    await made.open()
    found = Fleet(made, server, name)
    yield found
    await found.close()


async def holding(fleet: Fleet, host: Host, key: str = "a") -> int:
    number = await fleet.fleet.offer(placed(key))
    assert await host.take(number)
    return number


async def test_after_a_restart_nobody_is_given_up_for_a_while(fleet: Fleet, server: Server) -> None:
    watcher, silent = await fleet.host("watcher"), await fleet.host("silent")
    number = await holding(fleet, silent)
    await fleet.live(45, watcher)
    await asyncio.to_thread(server.restart)

    assert await watcher.fleet.reap() == 0

    await fleet.live(35, watcher)
    assert await watcher.fleet.reap() == 0
    # A plain restart loses nothing, so runs are taken and ended meanwhile.
    assert await watcher.finish(await holding(fleet, watcher, "b"))
    await fleet.live(10, watcher)
    assert await watcher.fleet.reap() == 1
    assert not await silent.finish(number)


async def test_after_a_failover_nobody_takes_or_gives_up_until_hosts_have_said_what_they_have(
    fleet: Fleet, server: Server
) -> None:
    one, two = await fleet.host("one"), await fleet.host("two")
    number = await holding(fleet, one)
    (taken,) = await one.fleet.held(one.id, one.epoch)
    offered = await fleet.fleet.offer(placed("b"))
    # What the old server had promised last is lost with it: that the run was taken, and by whom.
    fleet.sql(
        "update fleet.runs set state = 'offered', attempt = 0, host = null, epoch = null "
        f"where number = {number}"
    )
    await asyncio.to_thread(server.fork_history)

    assert await two.take(number) is None
    assert await two.take(offered) is None
    for call in (one.finish(number), one.report(number, progress=1)):
        with pytest.raises(FleetUnreachable, match="lost its last commits"):
            await call
    orders = await one.renew()
    assert orders is not None
    assert orders.settling
    await fleet.live(35, two)
    assert await two.fleet.reap() == 0
    assert await one.renew()

    assert await one.fleet.affirm(one.id, one.epoch, [taken]) == []

    assert await one.finish(number, exit=0)
    await fleet.live(10, one, two)
    orders = await two.renew()
    assert orders is not None
    assert not orders.settling
    # Whether its home still wants what nobody had is for its home to say.
    assert await two.take(offered) is None
    assert await two.take_next() == []
    assert await fleet.fleet.offer(placed("b")) == offered
    assert await two.take(offered)
    assert fleet.lanes_are_right()


async def test_after_a_failover_what_has_ended_since_does_not_begin_again(
    fleet: Fleet, server: Server
) -> None:
    one = await fleet.host("one")
    await fleet.fleet.set_lane("default", 1)
    for key in ("a", "b", "c"):
        await fleet.fleet.offer(placed(key))
    # All this is what the new server remembers; meanwhile "a" and "b" had ended, and their home knows.
    await asyncio.to_thread(server.fork_history)
    await fleet.live(45, one)

    assert await one.take_next() == []
    assert {view.key: view.state for view in await fleet.fleet.results(HOME)} == dict.fromkeys(
        "abc", "doubted"
    )
    assert fleet.lanes_are_right()

    await fleet.fleet.cancel(HOME, "a", grace=1)
    await fleet.fleet.offer(placed("b", had_host=True))  # it ran, and nobody knows how it ended
    await fleet.fleet.offer(placed("c"))
    ends = {view.key: view.outcome for view in await fleet.fleet.results(HOME)}
    assert ends == {"a": {"stop": "cancel"}, "b": {"lost": "the fleet's database lost track of it"}}
    assert [taken.key for taken in await one.take_next()] == ["c"]
    assert fleet.lanes_are_right()


async def test_after_a_failover_a_host_keeps_a_run_whose_offer_was_lost(fleet: Fleet, server: Server) -> None:
    one, two = await fleet.host("one"), await fleet.host("two")
    await fleet.fleet.set_lane("default", 1)
    run = placed("a")
    number = await fleet.fleet.offer(run)
    taken = await one.take(number)
    assert taken is not None
    fleet.sql("delete from fleet.runs; update fleet.lanes set used = 0")
    # Its epoch may be lost as well.
    fleet.sql("update fleet.hosts set epoch = epoch - 1 where name = 'one'")
    await asyncio.to_thread(server.fork_history)
    assert await one.renew()

    assert await one.fleet.affirm(one.id, one.epoch, [taken]) == []
    assert await fleet.fleet.offer(run) == number

    (view,) = await fleet.fleet.results(HOME)
    assert (view.number, view.state, view.host, view.attempt) == (number, "taken", "one", 1)
    assert await two.fleet.affirm(two.id, two.epoch, [taken]) == [number]
    assert fleet.lanes_are_right()
    assert await one.finish(number)
    assert fleet.sql("select used from fleet.lanes") == [(0,)]


async def test_after_a_failover_a_run_that_a_host_had_is_lost_rather_than_begun_again(
    fleet: Fleet, server: Server
) -> None:
    one = await fleet.host("one")
    number = await holding(fleet, one, "a")
    fleet.sql("delete from fleet.runs")
    await asyncio.to_thread(server.fork_history)
    orders = await one.renew()
    assert orders is not None
    assert orders.settling

    assert await fleet.fleet.offer(placed("a", had_host=True)) == number
    assert await fleet.fleet.find("a") == []

    await fleet.live(45, one)
    assert await fleet.fleet.offer(placed("a", had_host=True)) == number
    assert await one.take(number) is None
    (view,) = await fleet.fleet.results(HOME)
    assert (view.state, view.outcome) == ("ended", {"lost": "the fleet's database lost track of it"})


async def test_every_renewal_names_the_timeline(fleet: Fleet, server: Server) -> None:
    one = await fleet.host("one")
    before = await one.renew()
    await asyncio.to_thread(server.fork_history)
    after = await one.renew()

    assert before is not None
    assert after is not None
    assert before.timeline != after.timeline


async def test_what_was_not_lost_cannot_be_affirmed_by_another(fleet: Fleet) -> None:
    one, two = await fleet.host("one"), await fleet.host("two")
    number = await holding(fleet, one)
    (taken,) = await one.fleet.held(one.id, one.epoch)
    assert await one.finish(number)

    assert await one.fleet.affirm(one.id, one.epoch, [taken]) == [number]
    assert await two.fleet.affirm(two.id, two.epoch, [taken]) == [number]
    assert await two.fleet.affirm(two.id, two.epoch + 1, [taken]) == [number]


async def test_offers_and_changes_go_on_within_five_seconds_of_a_restart(
    fleet: Fleet, server: Server
) -> None:
    host = await fleet.host(slots=2)
    held = await fleet.fleet.offer(placed("held"))
    found: asyncio.Queue[tuple[int, float]] = asyncio.Queue()
    woken: list[float] = []

    async def take_all() -> None:
        async with aclosing(host.fleet.taken(host=host.facts)) as runs:  # type: ignore[type-var]
            async for run in runs:
                found.put_nowait((run.number, time.monotonic()))
                while run.number != held:
                    with suppress(FleetUnreachable):  # as long as the server takes to be there again
                        assert await host.finish(run.number)
                        break

    async def watch() -> None:
        async with aclosing(fleet.fleet.changes(home=HOME)) as changes:
            async for _ in changes:
                woken.append(time.monotonic())

    async def renew() -> None:
        while True:
            with suppress(FleetUnreachable):
                await host.renew()
            await asyncio.sleep(1)

    tasks = [asyncio.create_task(each()) for each in (take_all, watch, renew)]
    try:
        assert (await found.get())[0] == held
        for how in ("fast", "crash"):
            await asyncio.to_thread(server.restart, how)
            restarted = time.monotonic()
            number = await fleet.fleet.offer(placed())
            assert (await found.get())[0] == number
            # Whatever the machine is busy with, what comes next must come by a notification, not by a poll.
            delays = []
            while time.monotonic() < restarted + 240:
                since = time.monotonic()
                number = await fleet.fleet.offer(placed())
                taken, at = await found.get()
                assert taken == number
                delays.append(at - since)
                if sorted(delays[-5:])[-1] < 0.3 and len(delays) >= 5:
                    break
            assert sorted(delays[-5:])[-1] < 0.3, delays
        # What the host had through all of this is still its own.
        assert await host.finish(held)
        assert woken
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_a_server_that_is_away_is_reported_in_time_and_found_again(
    fleet: Fleet, server: Server
) -> None:
    await asyncio.to_thread(server.stop)
    started = time.monotonic()
    with pytest.raises(FleetUnreachable, match="does not answer"):
        await fleet.fleet.hosts()
    assert time.monotonic() - started < 60

    await asyncio.to_thread(server.start)

    assert await fleet.fleet.hosts() == []


async def test_a_link_that_swallows_everything_does_not_hang(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cut link looks like this: what is sent is acknowledged by the kernel, and no answer comes."""
    silent = asyncio.Event()
    socket = f"{fleet.server.folder}/.s.PGSQL.{fleet.server.port}"

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while content := await reader.read(65536):
                if silent.is_set():
                    await asyncio.Event().wait()
                writer.write(content)
                await writer.drain()
        writer.close()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_unix_connection(socket)
        both = [
            asyncio.create_task(forward(reader, there[1])),
            asyncio.create_task(forward(there[0], writer)),
        ]
        try:
            await asyncio.gather(*both)
        except asyncio.CancelledError:
            for each in both:
                each.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        there[1].close()
        writer.close()

    monkeypatch.setattr(connections, "PATIENCE", 2.0)
    carriers: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        carriers.add(asyncio.create_task(carry(reader, writer)))

    proxy = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    distant = PostgresFleet(f"postgresql://postgres@127.0.0.1:{port}/{fleet.name}")
    try:
        assert await distant.hosts() == []
        silent.set()
        with pytest.raises(FleetUnreachable):
            await asyncio.wait_for(distant.hosts(), 60)
        silent.clear()
        assert await distant.hosts() == []
    finally:
        await distant.close()
        proxy.close()
        for each in carriers:
            each.cancel()
        await asyncio.gather(*carriers, return_exceptions=True)


async def test_a_call_whose_connection_breaks_while_it_is_cancelled_is_not_made_again(
    fleet: Fleet, server: Server
) -> None:
    # Otherwise a host process that should end would go on, without those of its parts that did end.
    calls = connections.Connections(server.url(fleet.name))
    sleeping = "select pid from pg_stat_activity where query = 'select pg_sleep(300)' and state = 'active'"
    call = asyncio.create_task(calls.rows("select pg_sleep(300)"))
    while not (found := fleet.sql(sleeping)):
        await asyncio.sleep(0.02)
    backend = int(found[0][0])
    os.kill(backend, signal.SIGSTOP)  # it cannot say that it cancels the query

    call.cancel()
    await asyncio.sleep(0.1)
    os.kill(backend, signal.SIGKILL)

    await asyncio.wait({call}, timeout=60)
    assert call.cancelled()
    await calls.close()


async def test_after_a_failover_only_the_host_that_says_so_has_what_was_taken_ahead(
    fleet: Fleet, server: Server
) -> None:
    """The server may have lost that it was given back, and that another host took it."""
    one, two = await fleet.host("one", slots=1), await fleet.host("two", slots=0)
    has = await holding(fleet, one)
    mine = await fleet.fleet.offer(placed("mine"))
    yours = await fleet.fleet.offer(placed("yours"))
    taken = {each.number: each for each in await one.take_next(known=[has], ahead=2)}
    assert [*taken] == [mine, yours]
    await asyncio.to_thread(server.fork_history)

    assert await one.renew()
    held = await one.fleet.held(one.id, one.epoch)
    assert {each.number: each.ahead for each in held} == {has: False, mine: True, yours: True}
    told = await one.take_next()
    assert [each.number for each in told] == [has], "nobody is told to begin what is doubted"
    assert await two.fleet.affirm(two.id, two.epoch, [taken[mine]]) == [mine], "it never had this attempt"
    assert await one.fleet.affirm(one.id, one.epoch, [taken[mine]]) == []
    later = evolve(taken[yours], attempt=2, ahead=False)
    assert await two.fleet.affirm(two.id, two.epoch, [later]) == []
    assert await one.fleet.affirm(one.id, one.epoch, [taken[yours]]) == [yours]

    assert await one.finish(mine)
    assert await two.finish(yours, 2)
    assert fleet.lanes_are_right()


@pytest.mark.parametrize("policy", ["lost", "again"])
async def test_after_a_failover_what_was_taken_ahead_and_ended_since_does_not_begin_again(
    fleet: Fleet, server: Server, policy: LossPolicy
) -> None:
    """Its host has reported the end, and is gone; its home, which never heard of it, offers it again."""
    one = await fleet.host("one", slots=1)
    has = await holding(fleet, one)
    await fleet.fleet.offer(run := placed("mine", policy=policy))
    assert len(await one.take_next(known=[has], ahead=1)) == 1
    await asyncio.to_thread(server.fork_history)
    two = await fleet.host("two")
    await fleet.fleet.offer(run)
    await fleet.live(45, two)

    await fleet.fleet.offer(run)

    taken = [each.key for each in await two.take_next()]
    assert taken == ([] if policy == "lost" else ["mine"])
    if policy == "lost":
        assert (await fleet.look("mine")).outcome == {"lost": "the fleet's database lost track of it"}
    assert fleet.lanes_are_right()
