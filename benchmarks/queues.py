"""The queues that the topic of many hosts compares, and the processes that empty them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import procrastinate

from errands.hosts.fleet import PostgresFleet
from errands.ports.fleet import Placed
from tests.postgres import Server

HOSTS = 2
_ROOT = Path(__file__).parents[1]
_PGQUEUER = _ROOT / "build/peers/pgqueuer/bin/python"
MISSING = f"PgQueuer is not in {_PGQUEUER.parents[1].relative_to(_ROOT)}: run tools/peers"

Add = Callable[[int], Awaitable[float]]  # adds the job of a number, and returns when it began
AddMany = Callable[[int], Awaitable[None]]


def kinds() -> list[str]:
    """Return what can be measured here."""
    return ["errands", "procrastinate", *(["pgqueuer"] if _PGQUEUER.exists() else [])]


@asynccontextmanager
async def queue(server: Server, kind: str) -> AsyncIterator[tuple[str, Add, AddMany]]:
    """Prepare a queue: its address, how to add one job, and how to add many."""
    name = server.create_database()
    async with _QUEUES[kind](server.url(name)) as adding:
        yield server.url(name), *adding
    server.drop_database(name)


@asynccontextmanager
async def _errands(url: str) -> AsyncIterator[tuple[Add, AddMany]]:
    fleet = PostgresFleet(url)
    await fleet.open()

    async def add_many(count: int) -> None:
        for start in range(0, count, 1000):
            numbers = range(start, min(start + 1000, count))
            await fleet.offer_all([placed(number, lane="bulk") for number in numbers])

    async def add(number: int) -> float:
        began = time.monotonic()
        await fleet.offer(placed(number))
        return began

    yield add, add_many
    await fleet.close()


@asynccontextmanager
async def _procrastinate(url: str) -> AsyncIterator[tuple[Add, AddMany]]:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        task = app.configure_task("noop")

        async def add_many(count: int) -> None:
            for start in range(0, count, 1000):
                several: list[Any] = [{"n": n} for n in range(start, min(start + 1000, count))]
                await task.batch_defer_async(*several)

        async def add(number: int) -> float:
            began = time.monotonic()
            await task.defer_async(n=number)
            return began

        yield add, add_many


@asynccontextmanager
async def _pgqueuer(url: str) -> AsyncIterator[tuple[Add, AddMany]]:
    process = _start("pgqueuer-add", url, "add")
    assert process.stdin is not None
    assert process.stdout is not None
    lines, answers = process.stdin, process.stdout
    assert await asyncio.to_thread(answers.readline) == "ready\n"

    async def send(first: int, count: int) -> float:
        lines.write(f"{first} {count}\n")
        return float(await asyncio.to_thread(answers.readline))

    async def add_many(count: int) -> None:
        await send(1, count)

    yield lambda number: send(number, 1), add_many
    lines.close()
    process.wait()
    answers.close()


_QUEUES = {
    "errands": _errands,
    "procrastinate": _procrastinate,
    "procrastinate-true": _procrastinate,
    "pgqueuer": _pgqueuer,
}


def placed(number: int, lane: str = "default") -> Placed:
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


def _start(kind: str, url: str, name: str) -> subprocess.Popen[str]:
    python = str(_PGQUEUER) if kind.startswith("pgqueuer") else sys.executable
    return subprocess.Popen(
        [python, "-m", "benchmarks.contenders.fleet_worker", kind, url, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        cwd=_ROOT,
    )


@dataclass
class Hosts:
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
async def hosts(kind: str, url: str) -> AsyncIterator[Hosts]:
    found = Hosts([_start(kind, url, f"host{n}") for n in range(HOSTS)], {}, asyncio.Event())
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
