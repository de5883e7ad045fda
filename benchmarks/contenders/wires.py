"""A host of the fleet, or a bare worker of its peer: `python -m benchmarks.contenders.wires KIND URL NAME`.

Its jobs do nothing; for each one it prints its number and the moment it started. All have eight slots.
"""

from __future__ import annotations

import asyncio
import sys
import time

SLOTS = 8


def started(number: object) -> None:
    sys.stdout.write(f"{number} {time.monotonic()}\n")
    sys.stdout.flush()


async def errands(url: str, name: str) -> None:
    from errands.hosts.fleet import PostgresFleet
    from errands.model.errors import FleetUnreachable
    from errands.ports.fleet import HostFacts, Taken

    fleet = PostgresFleet(url)
    facts = HostFacts(id=name, name=name, labels=(), slots=SLOTS, version="1", boot="1")
    lease = await fleet.join(facts)

    async def renew() -> None:
        while True:
            await asyncio.sleep(lease.interval)
            try:
                await fleet.renew(name, lease.epoch, free=SLOTS)
            except FleetUnreachable:
                continue

    async def carry_out(taken: Taken) -> None:
        started(taken.body["n"])
        await fleet.finish(
            taken.number, attempt=taken.attempt, host=name, epoch=lease.epoch, outcome={"exit": 0}
        )

    renewing = asyncio.create_task(renew())
    running: set[asyncio.Task[None]] = {renewing}
    async for taken in fleet.taken(host=facts):
        task = asyncio.create_task(carry_out(taken))
        running.add(task)
        task.add_done_callback(running.discard)


async def procrastinate(url: str, name: str) -> None:
    from procrastinate import App, PsycopgConnector

    app = App(connector=PsycopgConnector(conninfo=url))

    @app.task(name="noop")
    async def noop(n: int) -> None:
        started(n)

    async with app.open_async():
        await app.run_worker_async(concurrency=SLOTS, delete_jobs="always", install_signal_handlers=False)


if __name__ == "__main__":
    kind, url, name = sys.argv[1:]
    asyncio.run({"errands": errands, "procrastinate": procrastinate}[kind](url, name))
