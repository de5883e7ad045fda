"""The host process: what it does with runs that come before it knows that its lease holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from errands.engine.fleet import host_process
from errands.engine.fleet.host_process import HostProcess
from errands.engine.fleet.placed_run import LANE
from errands.hosts.fleet import PostgresFleet
from errands.ports.fleet import HostFacts, Taken
from errands.ports.fleet.membership import Membership
from errands.ports.home import boottime, read_fuse
from errands.runners.output.log import send_numbered
from errands.runners.output.mirror import Mirror, exit_facts, has_ended
from errands.testing.engines import embedded, until
from tests.engine.fleet.hosts import HOST, Host, eventually

if TYPE_CHECKING:
    from errands.ports.fleet import Orders, Piece

pytestmark = pytest.mark.spec("X12")

ME = Membership(id=HOST.id, url="", name=HOST.name, labels=HOST.labels, slots=HOST.slots)


class FleetOfLateReplies(PostgresFleet):
    """A real fleet that renews leases, and whose replies to that are held back."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.replies = asyncio.Event()
        self.handled: list[int] = []

    async def renew(self, host: str, epoch: int, *, free: int, tails: Sequence[Piece] = ()) -> Orders | None:
        orders = await super().renew(host, epoch, free=free, tails=tails)
        await self.replies.wait()
        return orders

    async def taken(self, *, host: HostFacts, ahead: Callable[[], int] = int) -> AsyncGenerator[Taken]:
        async for each in super().taken(host=host, ahead=ahead):
            yield each
            self.handled.append(each.number)


async def has_outcome(host: Host, number: int) -> bool:
    return (await host.view(number)).outcome is not None


async def test_a_run_that_comes_after_the_fuse_burned_starts_when_the_lease_is_known_to_hold(
    own_home: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = [0.0]
    monkeypatch.setattr(host_process, "boottime", lambda: boottime() + ahead[0])
    fleet = FleetOfLateReplies(database)
    async with embedded(str(own_home)) as engine:
        engine.engine.queue.set_lane(LANE, HOST.slots)
        process = HostProcess(
            engine.engine, fleet, ME, HOST,
            mirrors=Mirror, has_ended=has_ended, exit_facts=exit_facts, send_input=send_numbered,
        )  # fmt: skip
        host = Host(engine, fleet, 1, tmp_path, database)
        working = asyncio.create_task(process.run())
        try:
            await until(lambda: read_fuse(engine.engine.home.fuse))
            ahead[0] = 3600.0
            number = await host.offer("echo done")
            await until(lambda: fleet.handled == [number])
            assert await host.tasks() == []

            fleet.replies.set()
            await eventually(lambda: has_outcome(host, number))
            outcome = (await host.view(number)).outcome
            assert outcome is not None
            assert outcome["code"] == "0"
            assert await host.tasks() == ["completed"]
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working
            await fleet.close()
