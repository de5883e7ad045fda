"""Many hosts: our fleet beside bare procrastinate, on one PostgreSQL server, in one run.

The peer only hands out jobs. A fleet also counts lanes, fences every write and keeps results.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import procrastinate
import psycopg

from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.table import Table
from benchmarks.units import milliseconds, rate
from errands.hosts.fleet import PostgresFleet
from errands.ports.fleet import Placed
from tests.postgres import DURABLE, Server, running

_ROOT = Path(__file__).parents[2]
_HOSTS = 2
_BACKLOG = 100_000
_PAUSE = 0.02  # seconds between two samples of latency, so that each finds idle hosts

Enqueue = Callable[[int], Awaitable[Any]]


def measure(scale: Scale) -> list[Table]:
    return [asyncio.run(_measure(scale))]


async def _measure(scale: Scale) -> Table:
    samples, jobs = scale.latency_samples, scale.tasks * 5
    backlog = _BACKLOG if scale.queued >= 10_000 else scale.queued * 4
    latency: dict[str, list[float]] = {}
    speed: dict[str, float] = {}
    drain: dict[str, float] = {}
    with running(settings=DURABLE) as server:
        for kind in ("errands", "procrastinate"):
            latency[kind] = await _latency(server, kind, samples)
            speed[kind] = await _drain(server, kind, fill=jobs, count=jobs)
            drain[kind] = await _drain(server, kind, fill=backlog, count=jobs)
        other = await _other_lane(server, backlog, samples)
        cancelled = await _cancel(server, samples)
    return Table(
        title=f"Many hosts: two hosts with eight slots each, {backlog:,} queued",
        figures=tuple(_figures(latency, speed, drain, other, cancelled)),
    )


def _figures(
    latency: dict[str, list[float]],
    speed: dict[str, float],
    drain: dict[str, float],
    other: list[float],
    cancelled: list[float],
) -> Iterator[Figure]:
    ours, bare = median(latency["errands"]), median(latency["procrastinate"])
    yield Figure(
        what="from offering a run to its start, p50",
        value=milliseconds(ours),
        beside=f"{milliseconds(bare)} procrastinate",
        ratio=ours / bare,
        bar=Bar(limit=2.5, aim=2.0, at_most=True),
    )
    for what, found in (("runs that do nothing", speed), ("the same from a long queue", drain)):
        yield Figure(
            what=what,
            value=rate(found["errands"]),
            beside=f"{rate(found['procrastinate'])} procrastinate",
            ratio=found["errands"] / found["procrastinate"],
            bar=Bar(limit=1.0),
        )
    for what, times, limit in (
        ("start in another lane beside a long queue, p99", other, 30.0),
        ("until a host knows that a run is cancelled, p99", cancelled, 100.0),
    ):
        found_at = _percentile(times, 99)
        yield Figure(
            what=what,
            value=milliseconds(found_at),
            beside=f"{milliseconds(median(times))} p50",
            judged=found_at * 1e3,
            bar=Bar(limit=limit, at_most=True, unit=" ms"),
        )


@asynccontextmanager
async def _queue(server: Server, kind: str) -> AsyncIterator[tuple[str, Enqueue, Enqueue]]:
    """Prepare a queue in a database of its own: its address, how to add one job, and how to add many."""
    name = server.create_database()
    url = server.url(name)
    if kind == "errands":
        fleet = PostgresFleet(url)
        await fleet.open()

        async def add_many(count: int) -> None:
            with psycopg.connect(url, autocommit=True, options="-c search_path=fleet_wire") as connection:
                connection.execute(
                    "select fleet.offer('home', 'bulk' || n, 'task', '*', 'bulk', 5, 'lost', "
                    "jsonb_build_object('n', n), false) from generate_series(1, %s) n",
                    (count,),
                )

        async def add(number: int) -> None:
            await fleet.offer(_placed(number))

        yield url, add, add_many
        await fleet.close()
    else:
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            task = app.configure_task("noop")

            async def add_many(count: int) -> None:
                for start in range(0, count, 1000):
                    several: list[Any] = [{"n": n} for n in range(start, min(start + 1000, count))]
                    await task.batch_defer_async(*several)

            yield url, lambda number: task.defer_async(n=number), add_many
    server.drop_database(name)


def _placed(number: int, lane: str = "default") -> Placed:
    return Placed(
        home="home",
        key=f"{lane}{number}",
        task="task",
        selector="*",
        lane=lane,
        priority=5,
        policy="lost",
        body={"n": number},
    )


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=_ROOT
    )


@dataclass
class _Hosts:
    """Two processes that carry out jobs, and when each job started."""

    processes: list[subprocess.Popen[str]]
    starts: dict[int, float]
    arrived: asyncio.Event

    async def start_of(self, number: int) -> float:
        while number not in self.starts:
            self.arrived.clear()
            if number not in self.starts:
                await asyncio.wait_for(self.arrived.wait(), 60)
        return self.starts[number]

    async def count(self, wanted: int) -> list[float]:
        while len(self.starts) < wanted:
            self.arrived.clear()
            await asyncio.wait_for(self.arrived.wait(), 60)
        return sorted(self.starts.values())[:wanted]


@asynccontextmanager
async def _hosts(kind: str, url: str) -> AsyncIterator[_Hosts]:
    command = [sys.executable, "-m", "benchmarks.contenders.wires", kind, url]
    found = _Hosts([_start([*command, f"host{n}"]) for n in range(_HOSTS)], {}, asyncio.Event())
    loop = asyncio.get_running_loop()

    def read(process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            number, at = line.split()
            found.starts[int(number)] = float(at)
            loop.call_soon_threadsafe(found.arrived.set)

    readers = [asyncio.create_task(asyncio.to_thread(read, process)) for process in found.processes]
    try:
        yield found
    finally:
        for process in found.processes:
            process.kill()
        await asyncio.gather(*readers)
        for process in found.processes:
            process.wait()


async def _latency(server: Server, kind: str, samples: int) -> list[float]:
    async with _queue(server, kind) as (url, add, _), _hosts(kind, url) as hosts:
        first = 1_000_000
        for n in range(5):
            await add(first + n)
            await hosts.start_of(first + n)
        delays = []
        for number in range(first + 100, first + 100 + samples):
            await asyncio.sleep(_PAUSE)
            began = time.monotonic()
            await add(number)
            delays.append(await hosts.start_of(number) - began)
        return delays


async def _drain(server: Server, kind: str, *, fill: int, count: int) -> float:
    """Return how many jobs per second start, of a queue that was full before the hosts came."""
    async with _queue(server, kind) as (url, _, add_many):
        await add_many(fill)
        _analyze(url)
        async with _hosts(kind, url) as hosts:
            starts = await hosts.count(count)
        return (len(starts) - 1) / (starts[-1] - starts[0])


async def _other_lane(server: Server, backlog: int, samples: int) -> list[float]:
    """Measure starts in one lane while hosts work through a long queue in another, which has a limit."""
    async with _queue(server, "errands") as (url, _, add_many):
        fleet = PostgresFleet(url)
        await fleet.set_lane("bulk", 4)
        await add_many(backlog)
        _analyze(url)
        async with _hosts("errands", url) as hosts:
            await hosts.count(10)
            delays = []
            for number in range(1_000_000, 1_000_000 + samples):
                await asyncio.sleep(_PAUSE)
                began = time.monotonic()
                await fleet.offer(_placed(number, lane="other"))
                delays.append(await hosts.start_of(number) - began)
        await fleet.close()
        return delays


async def _cancel(server: Server, samples: int) -> list[float]:
    """Measure how long it takes until the host of a run has the order to end it."""
    async with _queue(server, "errands") as (url, _, _many):
        from errands.ports.fleet import HostFacts

        home, host = PostgresFleet(url), PostgresFleet(url)
        facts = HostFacts(id="host", name="host", labels=(), slots=8, version="1", boot="1")
        lease = await host.join(facts)
        changes, runs = host.changes(home="host"), host.taken(host=facts)
        delays = []
        for number in range(samples):
            fleet_number = await home.offer(_placed(number))
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
        await changes.aclose()  # type: ignore[attr-defined]
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
