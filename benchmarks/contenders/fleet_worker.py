"""A host of the fleet, or a bare worker of a peer.

Run it with `python -m benchmarks.contenders.fleet_worker KIND URL NAME`. Its jobs do nothing; for each one it
prints its number and the moment it started. Those of `procrastinate-true` run `true`, and it prints when that
has ended. All have eight slots.
PgQueuer lives in an environment of its own, so its jobs are added by such a process, too: `pgqueuer-add`.
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


async def procrastinate(url: str, name: str, *program: str) -> None:
    from procrastinate import App, PsycopgConnector

    app = App(connector=PsycopgConnector(conninfo=url))

    @app.task(name="noop")
    async def noop(n: int) -> None:
        if program:
            process = await asyncio.create_subprocess_exec(*program)
            assert await process.wait() == 0
        started(n)

    async with app.open_async():
        await app.run_worker_async(concurrency=SLOTS, delete_jobs="always", install_signal_handlers=False)


async def procrastinate_true(url: str, name: str) -> None:
    await procrastinate(url, name, "true")


async def pgqueuer(url: str, name: str) -> None:
    import asyncpg
    from pgqueuer import AsyncpgDriver, Job, PgQueuer

    queue = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))

    @queue.entrypoint("noop")  # type: ignore[untyped-decorator,unused-ignore]
    async def noop(job: Job) -> None:
        started(int(job.payload or b""))

    # It wants room for twice as many as it fetches at once.
    await queue.run(batch_size=SLOTS, max_concurrent_tasks=2 * SLOTS)


async def add_to_pgqueuer(url: str, name: str) -> None:
    """Create its tables, then add jobs as lines say (`FIRST COUNT`), and answer each with when it began."""
    import asyncpg
    from pgqueuer import AsyncpgDriver, Queries

    queries = Queries(AsyncpgDriver(await asyncpg.connect(url)))
    await queries.install()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        first, count = map(int, line.split())
        began = time.monotonic()
        for start in range(first, first + count, 1000):
            numbers = range(start, min(start + 1000, first + count))
            payloads: list[bytes | None] = [str(n).encode() for n in numbers]
            await queries.enqueue(["noop"] * len(payloads), payloads, [0] * len(payloads))
        sys.stdout.write(f"{began}\n")
        sys.stdout.flush()


KINDS = {
    "errands": errands,
    "procrastinate": procrastinate,
    "procrastinate-true": procrastinate_true,
    "pgqueuer": pgqueuer,
    "pgqueuer-add": add_to_pgqueuer,
}

if __name__ == "__main__":
    kind, url, name = sys.argv[1:]
    asyncio.run(KINDS[kind](url, name))
