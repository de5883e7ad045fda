"""The host process: keeps the lease of this host in the fleet, and works for both sides of it.

As long as it reaches the fleet it moves the fuse of this host on. When it does not, the shims of other homes'
runs end them by themselves, before the fleet can give them to another host.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from errands.engine.fleet import awaited_tasks, notice_side, outlook
from errands.engine.fleet.awaited_tasks import AwaitedTasks
from errands.engine.fleet.home_side import HomeSide
from errands.engine.fleet.host_side import HostSide
from errands.engine.fleet.notice_side import NoticeSide
from errands.engine.fleet.outlook import OutlookSide
from errands.engine.live.hub import listen
from errands.model.errors import ErrandsError, FleetUnreachable, StoreError
from errands.ports.home import boottime, write_fuse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from errands.engine.engine import Engine
    from errands.engine.fleet.guest import ExitFacts, SendInput
    from errands.engine.fleet.home_side import HasEnded, Mirrors
    from errands.ports.fleet import Fleet, HostFacts, Lease, Orders, Taken
    from errands.ports.fleet.membership import Membership

BURNS = 0.6  # of the lease: when the fuse burns; the grace of the shims and a margin follow
AGAIN = 1.0  # seconds until something that failed is tried again
POLL = 1.0  # seconds between two checks without a ring
CLOSED_WITHIN = 3.0  # seconds for saying goodbye to the database
REST = 2.0  # how much longer than a turn of either side is the rest after it, in which more comes together
LONGEST_REST = 0.05  # seconds
_LOG = logging.getLogger("errands.host")


class HostProcess:
    def __init__(
        self,
        engine: Engine,
        fleet: Fleet,
        membership: Membership,
        facts: HostFacts,
        *,
        mirrors: Mirrors,
        has_ended: HasEnded,
        exit_facts: ExitFacts,
        send_input: SendInput,
    ) -> None:
        self._engine = engine
        self._fleet = fleet
        self._facts = facts
        self._home_side = HomeSide(engine, fleet, membership, mirrors, has_ended)
        self._host_side = HostSide(engine, fleet, facts.id, exit_facts, send_input)
        self._known: tuple[str, bool] | None = None  # the fleet's last timeline, and whether it was settling
        self._burns = 0.0  # the deadline of the fuse
        self._taken: list[Taken] = []
        self._has_put_off = False  # runs that came after it
        self._notice_side = NoticeSide(engine, fleet, membership)
        self._awaited = AwaitedTasks(engine, fleet)
        self._outlook = OutlookSide(engine, fleet, self._home_side.unplaced)
        # Of the lease, the two sides, what is rarer, and runs that came.
        self._wakes = [asyncio.Event() for _ in range(7)]

    def ring(self) -> None:
        """Look at everything soon."""
        for each in self._wakes:
            each.set()

    async def run(self) -> None:
        """Work until this is cancelled."""
        try:
            await self._open()
            self._lease = await self._joined()
        except ErrandsError as error:
            self._outlook.note_for_all(str(error))
            raise
        await self._patiently(self._host_side.find_again)
        lease, home, host, notices, awaited, taken, outlooks = self._wakes
        async with asyncio.TaskGroup() as group:
            for work in (
                self._keep_lease(lease),
                self._repeat(self._home_side.work, home, lambda: min(self._home_side.rest, POLL), REST),
                self._repeat(self._host_side.work, host, lambda: self._host_side.rest, REST),
                self._repeat(self._notice_side.work, notices, lambda: notice_side.LOOK),
                self._repeat(self._awaited.work, awaited, lambda: awaited_tasks.LOOK),
                self._repeat(self._outlook.work, outlooks, lambda: outlook.LOOK),
                *([self._take_runs()] if self._facts.slots else []),
                self._repeat(self._begin_taken, taken, lambda: POLL),
                self._listen_to_fleet(),
                self._listen_to_home(),
            ):
                group.create_task(work)

    async def close(self) -> None:
        # A server that is down must not keep this process, which may be killed at any time anyway.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._fleet.close(), CLOSED_WITHIN)
        self._engine.close()

    async def _open(self) -> None:
        await self._patiently(self._fleet.open)

    async def _joined(self) -> Lease:
        """Join the fleet, and let the fuse burn from now on."""
        while True:
            before = boottime()
            try:
                lease = await self._fleet.join(self._facts)
            except FleetUnreachable as error:
                self._warn("the fleet cannot be reached", error)
                await asyncio.sleep(AGAIN)
                continue
            self._host_side.epoch = lease.epoch
            self._set_fuse(before + lease.seconds * BURNS)
            return lease

    def _set_fuse(self, burns: float) -> None:
        write_fuse(self._engine.home.fuse, burns)
        self._burns = burns

    async def _keep_lease(self, wake: asyncio.Event) -> None:
        while True:
            before, free = boottime(), max(0, self._facts.slots - self._host_side.count)
            try:
                orders = await self._fleet.renew(self._facts.id, self._lease.epoch, free=free)
                if orders is None:
                    await self._begin_again()
                    continue
                self._set_fuse(before + self._lease.seconds * BURNS)
                if self._has_put_off:
                    await self._host_side.find_again()
                    self._has_put_off = False
                for stop in orders.stops:
                    self._host_side.stop(stop)
                for number, wanted in orders.pauses:
                    self._host_side.pause(number, wanted=wanted)
                for number, last in orders.inputs:
                    self._host_side.pass_input(number, last)
                await self._catch_up(orders)
                await self._fleet.reap()
            except (FleetUnreachable, StoreError) as error:
                self._warn("the lease is not renewed", error)
                await asyncio.sleep(AGAIN)
                continue
            await _wait(wake, self._lease.interval)

    async def _catch_up(self, orders: Orders) -> None:
        """Say again what this host has and has placed, if the fleet may have lost its last commits."""
        news = (orders.timeline, orders.settling)
        if orders.settling or self._known not in (None, news):
            await self._host_side.find_again()
            await self._host_side.affirm()
            self._home_side.offer_again()
        self._known = news

    async def _begin_again(self) -> None:
        """End what other homes placed here, because this host was given up, and join again."""
        _LOG.error("the fleet gave this host up; what it ran for other homes is ended")
        with suppress(FileNotFoundError):
            os.unlink(self._engine.home.fuse)
        self._taken.clear()
        await self._host_side.end_all()
        self._lease = await self._joined()

    async def _take_runs(self) -> None:
        async for taken in self._fleet.taken(host=self._facts, ahead=lambda: self._host_side.ahead.wanted):
            if boottime() >= self._burns:
                # Its shim would end it at once: the lease was renewed, and the reply was lost.
                self._has_put_off = True
                continue
            self._taken.append(taken)
            self._wakes[5].set()

    async def _begin_taken(self) -> None:
        """Begin all runs that came together."""
        taken, self._taken = self._taken, []
        self._host_side.begin(*taken)
        if taken:
            self._wakes[2].set()

    async def _listen_to_fleet(self) -> None:
        async for _ in self._fleet.changes(home=self._facts.id):
            self._home_side.has_news = True
            if self._host_side.count:  # orders come with a renewal, and are about runs that are here
                self._wakes[0].set()
            self._wakes[1].set()

    async def _listen_to_home(self) -> None:
        async with listen(self._engine, self._host_side.tasks) as changes:
            async for change in changes:
                if change.tasks or change.is_everything:
                    self._wakes[1].set()
                self._wakes[2].set()

    async def _repeat(
        self,
        work: Callable[[], Awaitable[None]],
        wake: asyncio.Event,
        pause: Callable[[], float],
        rest: float = 0.0,
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            wake.clear()
            began = loop.time()
            try:
                await work()
            except (FleetUnreachable, StoreError) as error:
                _LOG.warning("this is tried again: %s", error)
                await asyncio.sleep(AGAIN)
            else:
                await asyncio.sleep(min(rest * (loop.time() - began), LONGEST_REST))
                await _wait(wake, pause())

    async def _patiently(self, act: Callable[[], Awaitable[None]]) -> None:
        """Do something that needs the fleet, as soon as it can be reached."""
        while True:
            try:
                return await act()
            except (FleetUnreachable, StoreError) as error:
                self._warn("the fleet cannot be reached", error)
                await asyncio.sleep(AGAIN)

    def _warn(self, what: str, error: ErrandsError) -> None:
        """Log a failure; while the fleet is unreachable, that is also why runs wait."""
        _LOG.warning("%s: %s", what, error)
        if isinstance(error, FleetUnreachable):
            self._outlook.note_for_all(outlook.UNREACHABLE)


async def _wait(wake: asyncio.Event, seconds: float) -> None:
    """Wait for a ring, at most this long."""
    with suppress(TimeoutError):
        await asyncio.wait_for(wake.wait(), seconds)
    wake.clear()
