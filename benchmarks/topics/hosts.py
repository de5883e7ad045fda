"""Many hosts: our fleet beside bare procrastinate and PgQueuer, on one PostgreSQL server, in one run.

The peers only hand out jobs. A fleet also counts lanes, fences every write and keeps results. The bars are
for procrastinate, which wakes our hosts; PgQueuer is shown beside it.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psycopg

from benchmarks import homes
from benchmarks.figure import Bar, Figure
from benchmarks.queues import MISSING, hosts, kinds, placed, queue
from benchmarks.scale import Scale
from benchmarks.table import Table
from benchmarks.units import milliseconds, rate
from errands.hosts.fleet import PostgresFleet
from errands.ports.fleet import HostFacts, Taken
from tests.postgres import DURABLE, Server, running

_BACKLOG = 100_000
_PAUSE = 0.02  # seconds between two samples of latency, so that each finds idle hosts
_WARM = 5  # jobs after which all hosts are at work
_WIDTH = 7  # of the lane over four hosts


def measure(scale: Scale) -> list[Table]:
    with running(settings=DURABLE) as server:
        samples, jobs = scale.latency_samples, scale.tasks * 5
        backlog = _BACKLOG if scale.queued >= 10_000 else scale.queued * 4
        figures = [
            *asyncio.run(_beside_peers(server, samples, jobs, backlog, scale.rounds)),
            *asyncio.run(_alone(server, samples, jobs, backlog)),
            _commands(server, jobs, scale.rounds),
            *_output(server, samples),
        ]
    return [
        Table(
            title=f"Many hosts: two hosts with eight slots each, {backlog:,} queued",
            figures=tuple(figures),
            notes=() if "pgqueuer" in kinds() else (MISSING,),
        )
    ]


async def _beside_peers(server: Server, samples: int, jobs: int, backlog: int, rounds: int) -> list[Figure]:
    latency: dict[str, float] = {}
    speeds: dict[str, list[float]] = {kind: [] for kind in kinds()}
    drain: dict[str, float] = {}
    # These take a second, so a disk that stands still for a moment would decide; the others take longer.
    for _ in range(rounds):
        for kind in kinds():
            speeds[kind].append(await _drain(server, kind, fill=jobs, count=jobs))
    for kind in kinds():
        latency[kind] = median(await _latency(server, kind, samples))
        drain[kind] = await _drain(server, kind, fill=backlog, count=jobs)
    return list(_compared(latency, {kind: median(found) for kind, found in speeds.items()}, drain))


def _compared(
    latency: dict[str, float], speed: dict[str, float], drain: dict[str, float]
) -> Iterator[Figure]:
    peers = [(peer, peer == "procrastinate") for peer in latency if peer != "errands"]
    for peer, is_judged in peers:
        yield Figure(
            what="from offering a run to its start, p50",
            value=milliseconds(latency["errands"]),
            beside=f"{milliseconds(latency[peer])} {peer}",
            ratio=latency["errands"] / latency[peer],
            bar=Bar(limit=2.5, aim=2.0, at_most=True) if is_judged else None,
        )
    for what, found in (("runs that do nothing", speed), ("the same from a long queue", drain)):
        for peer, is_judged in peers:
            yield Figure(
                what=what,
                value=rate(found["errands"]),
                beside=f"{rate(found[peer])} {peer}",
                ratio=found["errands"] / found[peer],
                bar=Bar(limit=1.0) if is_judged else None,
            )


async def _alone(server: Server, samples: int, jobs: int, backlog: int) -> list[Figure]:
    most = await _lane_of_seven(server, jobs)
    with _syncs(server) as syncs:
        starts = await _other_lane(server, backlog, samples)
    return [
        _percentile_of("start in another lane beside a long queue, p99", starts, 30.0),
        # Such a start waits for three of them: two commits, and those that are under way before.
        Figure(
            what="one sync of the disk meanwhile, p99",
            value=milliseconds(_percentile(syncs, 99)),
            beside=f"{milliseconds(median(syncs))} p50",
        ),
        _percentile_of(
            "until a host knows that a run is cancelled, p99", await _cancel(server, samples), 100.0
        ),
        Figure(
            what=f"most at once in a lane of {_WIDTH} over four hosts",
            value=str(most),
            beside=f"{jobs:,} runs",
            judged=float(most),
            bar=Bar(limit=_WIDTH, at_most=True, unit=""),
        ),
    ]


def _commands(server: Server, count: int, rounds: int) -> Figure:
    """Compare whole tasks, whose log and result are kept, with workers that start the same program."""
    ours, theirs = [], []
    # Removed at the end: here each round took longer than the one before when that had just been removed.
    with tempfile.TemporaryDirectory() as folder:
        for n in range(rounds):
            own = Path(folder, str(n))
            own.mkdir()
            ours.append(homes.carried_out(server, count, own, warm=_WARM))
            theirs.append(asyncio.run(_carried_out(server, "procrastinate-true", count)))
    return Figure(
        what="`true` as tasks of a third home, from submitting to the last result",
        value=rate(median(ours)),
        beside=f"{rate(median(theirs))} procrastinate, whose workers start `true`",
        ratio=median(ours) / median(theirs),
        bar=Bar(limit=1.0),
    )


async def _carried_out(server: Server, kind: str, count: int) -> float:
    """Return how many jobs per second idle workers carry out, from adding them to the last end."""
    async with queue(server, kind) as (url, add, add_many), hosts(kind, url) as at_work:
        for number in range(1_000_000, 1_000_000 + _WARM):
            await add(number)
            await at_work.start_of(number)
        began = time.monotonic()
        await add_many(count)
        ends = await at_work.count(_WARM + count)
        return count / (ends[-1] - began)


def _output(server: Server, samples: int) -> list[Figure]:
    age = homes.left_of_a_killed_host(server)
    return [
        _percentile_of(
            "`logs -f` in a third home behind what the host prints, p99",
            homes.followed(server, samples),
            1000.0,
        ),
        Figure(
            what="age of the last 8 KiB when a host is killed",
            value=milliseconds(age),
            judged=age * 1e3,
            bar=Bar(limit=5000.0, at_most=True, unit=" ms"),
        ),
    ]


def _percentile_of(what: str, times: list[float], limit: float) -> Figure:
    found = _percentile(times, 99)
    return Figure(
        what=what,
        value=milliseconds(found),
        beside=f"{milliseconds(median(times))} p50",
        judged=found * 1e3,
        bar=Bar(limit=limit, at_most=True, unit=" ms"),
    )


async def _latency(server: Server, kind: str, samples: int) -> list[float]:
    async with queue(server, kind) as (url, add, _), hosts(kind, url) as at_work:
        first = 1_000_000
        for n in range(5):
            await add(first + n)
            await at_work.start_of(first + n)
        delays = []
        for number in range(first + 100, first + 100 + samples):
            await asyncio.sleep(_PAUSE)
            began = await add(number)
            delays.append(await at_work.start_of(number) - began)
        return delays


async def _drain(server: Server, kind: str, *, fill: int, count: int) -> float:
    """Return how many jobs per second start, of a queue that was full before the hosts came."""
    async with queue(server, kind) as (url, _, add_many):
        await add_many(fill)
        _analyze(url)
        async with hosts(kind, url) as at_work:
            starts = await at_work.count(count)
        return (len(starts) - 1) / (starts[-1] - starts[0])


async def _other_lane(server: Server, backlog: int, samples: int) -> list[float]:
    """Measure starts in one lane while hosts work through a long queue in another, which has a limit."""
    async with queue(server, "errands") as (url, _, add_many):
        fleet = PostgresFleet(url)
        await fleet.set_lane("bulk", 4)
        await add_many(backlog)
        _analyze(url)
        async with hosts("errands", url) as at_work:
            await at_work.count(10)
            delays = []
            for number in range(1_000_000, 1_000_000 + samples):
                await asyncio.sleep(_PAUSE)
                began = time.monotonic()
                await fleet.offer(placed(number, lane="other"))
                delays.append(await at_work.start_of(number) - began)
        await fleet.close()
        return delays


@contextmanager
def _syncs(server: Server) -> Iterator[list[float]]:
    """Measure how long the disk of the server takes to write something down for good."""
    found: list[float] = []
    is_over = threading.Event()

    def sync() -> None:
        with open(server.folder / "sync", "wb", buffering=0) as file:
            while not is_over.wait(_PAUSE):
                os.pwrite(file.fileno(), bytes(8192), 0)
                began = time.monotonic()
                os.fdatasync(file.fileno())
                found.append(time.monotonic() - began)

    thread = threading.Thread(target=sync)
    thread.start()
    try:
        yield found
    finally:
        is_over.set()
        thread.join()


async def _lane_of_seven(server: Server, jobs: int) -> int:
    """Return how many runs of a lane four hosts had at once, as they themselves count."""
    async with queue(server, "errands") as (url, _, add_many):
        fleets = [PostgresFleet(url) for _ in range(4)]
        await fleets[0].set_lane("bulk", _WIDTH)
        now, most, ended = 0, 0, 0
        is_over = asyncio.Event()

        async def carry_out(fleet: PostgresFleet, host: str, epoch: int, taken: Taken) -> None:
            nonlocal now, most, ended
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.02)
            now -= 1
            assert await fleet.finish(
                taken.number, attempt=taken.attempt, host=host, epoch=epoch, outcome={"exit": 0}
            )
            ended += 1
            if ended == jobs:
                is_over.set()

        async def work(fleet: PostgresFleet, name: str) -> None:
            facts = HostFacts(id=name, name=name, labels=(), slots=4, version="1", boot="1")
            lease = await fleet.join(facts)
            async with asyncio.TaskGroup() as group:
                async for taken in fleet.taken(host=facts):
                    group.create_task(carry_out(fleet, name, lease.epoch, taken))

        await add_many(jobs)
        _analyze(url)
        working = [asyncio.create_task(work(fleet, f"host{n}")) for n, fleet in enumerate(fleets)]
        await asyncio.wait_for(is_over.wait(), 300)
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        for fleet in fleets:
            await fleet.close()
        return most


async def _cancel(server: Server, samples: int) -> list[float]:
    """Measure how long it takes until the host of a run has the order to end it."""
    async with queue(server, "errands") as (url, _, _many):
        home, host = PostgresFleet(url), PostgresFleet(url)
        facts = HostFacts(id="host", name="host", labels=(), slots=8, version="1", boot="1")
        lease = await host.join(facts)
        changes, runs = host.changes(home="host"), host.taken(host=facts)
        delays = []
        for number in range(samples):
            fleet_number = await home.offer(placed(number))
            assert (await anext(runs)).number == fleet_number
            began = time.monotonic()
            await home.cancel("home", f"default{number}", grace=1)
            async for _ in changes:
                orders = await host.renew("host", lease.epoch, free=8)
                if orders is not None and orders.stops:
                    break
            delays.append(time.monotonic() - began)
            await host.finish(
                fleet_number, attempt=1, host="host", epoch=lease.epoch, outcome={"stop": "cancel"}
            )
        await changes.aclose()
        await runs.aclose()  # type: ignore[attr-defined]
        await home.close()
        await host.close()
        return delays


def _analyze(url: str) -> None:
    """Let the planner know how long the queues are, as autovacuum would after a minute."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("analyze")


def _percentile(values: list[float], percent: float) -> float:
    return sorted(values)[min(len(values) - 1, round(len(values) * percent / 100))]
