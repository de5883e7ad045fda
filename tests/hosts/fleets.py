"""What the tests of the fleet share: a fleet on a real server, and hosts that take part in it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.types.json import Jsonb

from errands.hosts.fleet import PostgresFleet
from errands.hosts.turns import FIELDS, TURN
from errands.ports.fleet import FoundRun, HostFacts, Orders, Placed, Taken
from tests.postgres import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.ports.fleet import LossPolicy

HOME = "home-x"
_keys = itertools.count(1)


def facts(name: str = "build1", *, labels: tuple[str, ...] = (), slots: int = 4) -> HostFacts:
    return HostFacts(id=f"id-{name}", name=name, labels=labels, slots=slots, version="1.0", boot="boot-1")


def placed(
    key: str = "",
    *,
    selector: str = "*",
    lane: str = "default",
    priority: int = 5,
    policy: LossPolicy = "lost",
    body: dict[str, Any] | None = None,
    had_host: bool = False,
) -> Placed:
    return Placed(
        home=HOME,
        key=key or f"key-{next(_keys)}",
        task="task-1",
        selector=selector,
        lane=lane,
        priority=priority,
        policy=policy,
        body={"commands": [["true"]]} if body is None else body,
        had_host=had_host,
    )


@dataclass
class Fleet:
    """A fleet, and its database behind its back."""

    fleet: PostgresFleet
    server: Server
    name: str
    others: list[PostgresFleet] = field(default_factory=list)
    _line: psycopg.Connection[Any] | None = None

    @property
    def url(self) -> str:
        return self.server.url(self.name)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        for _ in range(2):
            if self._line is None or self._line.closed:
                self._line = psycopg.connect(self.url, autocommit=True, options="-c search_path=fleet_wire")
            try:
                cursor = self._line.execute(statement.encode())
                while cursor.nextset():
                    pass
                return cursor.fetchall() if cursor.description else []
            except psycopg.OperationalError:
                self._line.close()  # the server was restarted
        raise AssertionError(f"the server is away: {statement}")

    def tune(self, **seconds: float) -> None:
        """Change durations of the protocol, as an operator would."""
        for name, value in seconds.items():
            self.sql(f"update fleet.clock set {name} = make_interval(secs => {value})")

    def pass_time(self, seconds: float, *, host: str | None = None) -> None:
        """Let everything that the fleet noted lie further back: of one host, or of all."""
        by = f"interval '{seconds} seconds'"
        only = "" if host is None else f"where name = '{host}'"
        self.sql(
            f"update fleet.hosts set lease_until = lease_until - {by}, renewed = renewed - {by}, "
            f"steady_since = steady_since - {by} {only}"
        )
        if host is None:
            self.sql(
                f"update fleet.clock set quiet_until = quiet_until - {by}, "
                f"settling_until = settling_until - {by}, cleaned = cleaned - {by}"
            )
            self.sql(f"update fleet.runs set offered = offered - {by}, ended = ended - {by}")

    def connect(self) -> PostgresFleet:
        """Reach the fleet from another process, so to speak."""
        self.others.append(PostgresFleet(self.url))
        return self.others[-1]

    async def close(self) -> None:
        if self._line is not None:
            self._line.close()
        for each in (self.fleet, *self.others):
            await each.close()

    async def live(self, seconds: float, *hosts: Host) -> None:
        """Let time pass while these hosts renew their leases, and the others do not."""
        left = seconds
        while left > 0:
            self.pass_time(min(left, 5.0))
            for host in hosts:
                await host.renew()
            left -= 5.0

    async def host(self, name: str = "build1", *, labels: tuple[str, ...] = (), slots: int = 4) -> Host:
        fleet = self.connect()
        its = facts(name, labels=labels, slots=slots)
        lease = await fleet.join(its)
        return Host(fleet, its, lease.epoch)

    async def look(self, key: str) -> FoundRun:
        (view,) = await self.fleet.find(key)
        return view

    def lanes_are_right(self) -> bool:
        """Compare what is counted with what there is."""
        wrong = self.sql(
            "select l.name from fleet.lanes l where used <> (select count(*) from fleet.runs r "
            "where r.lane = l.name and state in ('offered', 'taken') and not paused)"
        )
        return wrong == []


@dataclass
class Host:
    """A host that says what it is told to say."""

    fleet: PostgresFleet
    facts: HostFacts
    epoch: int

    @property
    def id(self) -> str:
        return self.facts.id

    async def take(self, number: int) -> Taken | None:
        """Take this very run, as a turn does with what the wire brings."""
        found = await self.fleet._connections.records(
            f"select {', '.join(FIELDS)} from fleet.take(%s, %s, %s)",
            (number, self.id, self.epoch),
        )
        return Taken(**found[0]) if found else None

    async def take_next(self, *, known: Sequence[int] = (), ahead: int = 0) -> list[Taken]:
        """Take all that there is room for, in one turn, and so many ahead."""
        found = await self.fleet._connections.rows(
            TURN, self.id, self.epoch, [], [], Jsonb([]), True, list(known), ahead
        )
        return [Taken(**dict(zip(FIELDS, row[1:], strict=True))) for row in found]

    async def renew(self) -> Orders | None:
        return await self.fleet.renew(self.id, self.epoch, free=self.facts.slots)

    async def finish(self, number: int, attempt: int = 1, **outcome: Any) -> bool:
        said = outcome or {"exit": 0}
        return await self.fleet.finish(number, attempt=attempt, host=self.id, epoch=self.epoch, outcome=said)

    async def lose(self, number: int, attempt: int = 1) -> bool:
        return await self.fleet.lose(
            number, attempt=attempt, host=self.id, epoch=self.epoch, why="its fuse burned"
        )

    async def give_back(self, number: int, attempt: int = 1) -> bool:
        return await self.fleet.give_back(number, attempt=attempt, host=self.id, epoch=self.epoch)

    async def report(self, number: int, attempt: int = 1, **view: Any) -> bool:
        return await self.fleet.report(number, attempt=attempt, host=self.id, epoch=self.epoch, view=view)


def empty(fleet: Fleet) -> None:
    fleet.sql("truncate fleet.runs, fleet.hosts, fleet.lanes, procrastinate_jobs cascade")
    fleet.sql("update fleet.clock set quiet_until = '-infinity', settling_until = '-infinity'")
