"""A host with a real engine and a real fleet, for the tests of what a host does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from errands.engine.fleet.host_side import HostSide
from errands.model.limits import LIMITS, Limits
from errands.ports.fleet import HostFacts, Placed, PlacedView, Taken
from errands.ports.store import Query
from errands.runners.output.log import send_numbered
from errands.runners.output.mirror import exit_facts
from errands.testing.engines import TestEngine

if TYPE_CHECKING:
    from errands.ports.fleet import Fleet

HOME = "the home of the task"
HOST = HostFacts(id="h1", name="big", labels=("gpu",), slots=2, version="0", boot="b")


class Host:
    """A host with a real engine and a real fleet, whose host process the test is."""

    def __init__(self, engine: TestEngine, fleet: Fleet, epoch: int, folder: Path, url: str) -> None:
        self.url = url
        self.engine = engine
        self.fleet = fleet
        self.epoch = epoch
        self.folder = folder
        self.side = self.new_side()

    def new_side(self) -> HostSide:
        """Replace the side by one that knows nothing, as after a kill."""
        self.side = HostSide(self.engine.engine, self.fleet, HOST.id, exit_facts, send_numbered)
        self.side.epoch = self.epoch
        return self.side

    async def offer(self, line: str, **changes: Any) -> int:
        key = f"task-{len(await self.fleet.placed(limit=100))}.1:1"
        body = {
            "from": "laptop", "task": "task", "name": "task", "description": "", "commands": [line],
            "before": [], "lastly": [], "cwd": str(self.folder), "cwd_is_named": True, "env": {},
            "sandbox": "none", "limits": LIMITS.whole(Limits()), "consent": "yes", "approved_by": "ada",
            "digest": "", **changes,
        }  # fmt: skip
        return await self.fleet.offer(
            Placed(
                home=HOME, key=key, task="task", selector="gpu", lane="shell", priority=1, policy="lost",
                body=body,
            )
        )  # fmt: skip

    async def sql(self, statement: str) -> None:
        """Change what the fleet knows, behind its back."""
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as line:
            await line.execute(statement.encode())

    async def take(self, number: int) -> Taken:
        async with asyncio.timeout(60), aclosing(self.fleet.taken(host=HOST)) as runs:  # type: ignore[type-var]
            taken = await anext(runs)
        assert taken.number == number
        return taken

    async def view(self, number: int) -> PlacedView:
        return next(each for each in await self.fleet.placed(limit=100) if each.number == number)

    async def outcome(self, number: int) -> Mapping[str, Any]:
        """Work until the fleet has the end of a run."""

        async def has_ended() -> bool:
            await self.side.work()
            return (await self.view(number)).outcome is not None

        await eventually(has_ended)
        outcome = (await self.view(number)).outcome
        assert outcome is not None
        return outcome

    async def tasks(self) -> list[str]:
        return [view.state for view in self.engine.engine.list(Query())]


async def eventually(fact: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not await fact():
            await asyncio.sleep(0.02)
