"""A small world of hosts that take, end, freeze, die and come back at random, and what must hold in it.

Each process knows only what it was answered, as real ones do, and nothing is decided by the fleet's tables.
Time passes by letting everything that the fleet noted lie further back.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any

from errands.hosts.fleet import PostgresFleet
from errands.model.errors import FleetUnreachable
from errands.ports.fleet import Taken
from tests.hosts.fleets import HOME, Fleet, Host, facts, placed

LEASE, SLACK, QUIET, STEADY = 30.0, 10.0, 40.0, 30.0
FUSE = 18.0 + 5.0  # seconds after its last renewal in which a host has ended all runs of the fleet by itself
NAMES = ("one", "two", "three")
WIDTH = 2
SLOTS = {"one": 1, "two": 1, "three": 3}
ACTS = [*["offer"] * 3, *["take"] * 3, "next", *["ahead", "give back"] * 3, *["finish"] * 2]
ACTS += ["wrong", "renew", "reap", "cancel", "pause"]


@dataclass(eq=False)
class Process:
    """The host process of a home; a frozen one wakes up later and goes on as if nothing had happened."""

    host: Host
    asked: float
    answered: float
    since: float
    refused: bool = False
    # When it last asked for its lease: the fleet may have answered, and nobody read it yet.
    tried: float = 0.0
    holds: dict[int, int] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)  # what it took ahead, and has not begun
    leaving: set[int] = field(default_factory=set)  # what it gives back, until the answer is there


@dataclass
class World:
    fleet: Fleet
    seed: int
    current: dict[str, Process] = field(default_factory=dict)
    frozen: list[Process] = field(default_factory=list)
    offered: list[int] = field(default_factory=list)
    policies: dict[int, str] = field(default_factory=dict)
    attempts: dict[int, tuple[int, str, int]] = field(default_factory=dict)
    returned: dict[int, int] = field(default_factory=dict)
    ends: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    quiet_until: float = 0.0
    settling_until: float = 0.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.began = time.monotonic()

    @property
    def now(self) -> float:
        return self.shift + time.monotonic() - self.began

    async def live(self, steps: int) -> None:
        """Do random things, several at once, and check after each of them."""
        try:
            await self._live(steps)
        finally:
            for fleet in self.fleet.others:
                await fleet.close()
            self.fleet.others.clear()

    async def _live(self, steps: int) -> None:
        await self.fleet.fleet.set_lane("narrow", WIDTH)
        for name in NAMES:
            await self.join(name)
        for _ in range(steps):
            kind = self.random.random()
            if kind < 0.2:
                for process in self.current.values():
                    await self.take(process, self.random.choice(self.offered[-6:] or [0]))
                    await self.take_next(process)
                await self.pass_time()
            elif kind < 0.24:
                await self.join(self.random.choice(NAMES))
            elif kind < 0.26:
                self.freeze()
            elif kind < 0.265:
                self.restart_server()
            else:
                await asyncio.gather(*(self.act() for _ in range(self.random.randint(1, 5))))
            await self.check()

    # What happens

    async def join(self, name: str) -> None:
        """Start the host process of a home, in place of one that died or froze."""
        fleet = PostgresFleet(self.fleet.url)
        self.fleet.others.append(fleet)
        before = self.now
        lease = await fleet.join(facts(name, slots=SLOTS[name]))
        process = Process(Host(fleet, facts(name, slots=SLOTS[name]), lease.epoch), before, self.now, before)
        for old in self.of(name):
            assert lease.epoch >= old.host.epoch, "an epoch went back"
            if old.host.epoch == lease.epoch:  # a home has one host process: the one before is dead
                process.holds.update(old.holds)
                self.frozen = [each for each in self.frozen if each is not old]
            elif old is self.current.get(name):
                self.frozen.append(old)
        self.current[name] = process

    def freeze(self) -> None:
        name = self.random.choice(NAMES)
        if name in self.current and len(self.current) > 1:
            self.frozen.append(self.current.pop(name))

    def restart_server(self) -> None:
        """Let the fleet find itself on a server that was just started, or on another one."""
        if self.random.random() < 0.5:
            self.fleet.sql("update fleet.clock set started = started - interval '1 second'")
        else:
            self.fleet.sql("update fleet.clock set timeline = '00000000'")
            self.settling_until = self.now + QUIET
        self.quiet_until = self.now + QUIET

    async def pass_time(self) -> None:
        seconds = self.random.choice([1, 4, 20, 60, 90])
        silent = self.random.sample(NAMES, self.random.randint(0, 2))
        while seconds > 0:
            step = min(seconds, 4)
            self.fleet.pass_time(step)
            self.shift += step
            seconds -= step
            for name, process in list(self.current.items()):
                if name not in silent:
                    await self.renew(process)
        if self.random.random() < 0.1:
            self.restart_server()
        for process in list(self.current.values()):
            await self.reap(process)
        for name in NAMES:
            if self.random.random() < 0.7 and (name not in self.current or self.current[name].refused):
                await self.join(name)

    async def act(self) -> None:
        processes = [*self.current.values(), *self.frozen]
        process = self.random.choice(processes)
        number = self.random.choice(self.offered[-6:]) if self.offered else 0
        match self.random.choice(ACTS):
            case "offer":
                policy = self.random.choice(["lost", "again"])
                lane = self.random.choice(["narrow", "wide"])
                number = await self.fleet.fleet.offer(placed(policy=policy, lane=lane))  # type: ignore[arg-type]
                self.offered.append(number)
                self.policies[number] = policy
            case "take":
                await self.take(process, number)
            case "next":
                await self.take_next(process)
            case "ahead":
                await self.take_next(process, ahead=self.random.randint(1, 4))
            case "give back" if process.waiting & process.holds.keys():
                number = self.random.choice(sorted(process.waiting & process.holds.keys()))
                await self.give_back(process, number, process.holds[number])
            case "finish" if process.holds:
                number = self.random.choice(list(process.holds))
                await self.finish(process, number, process.holds[number])
            case "wrong" if process.holds:
                number = self.random.choice(list(process.holds))
                attempt = process.holds[number] + self.random.choice([-1, 1])
                assert not await self.said(process.host.finish(number, attempt)), (
                    "a wrong attempt was accepted"
                )
            case "renew":
                await self.renew(process)
            case "reap":
                await self.reap(process)
            case "cancel" if self.random.random() < 0.4:
                key = self.fleet.sql(f"select key from fleet.runs where number = {number}")
                if key:
                    await self.fleet.fleet.cancel(HOME, key[0][0], grace=1)
            case "pause":
                key = self.fleet.sql(f"select key from fleet.runs where number = {number}")
                if key:
                    await self.fleet.fleet.pause(HOME, key[0][0], wanted=self.random.random() < 0.4)
            case _:
                pass

    async def take(self, process: Process, number: int) -> None:
        before, renewed = self.now, process.answered
        if number in process.leaving:
            return
        taken = await process.host.take(number)
        if taken is not None:
            self.has_taken(process, taken, before, renewed)

    async def take_next(self, process: Process, *, ahead: int = 0) -> None:
        before, renewed = self.now, process.answered
        known = [*process.holds, *process.leaving]
        for taken in await process.host.take_next(known=known, ahead=ahead):
            if taken.number not in process.holds:
                self.has_taken(process, taken, before, renewed)

    def has_taken(self, process: Process, taken: Taken, before: float, renewed: float) -> None:
        number, epoch, name = taken.number, process.host.epoch, process.host.facts.name
        known = self.attempts.get(number, (0, "", 0))
        assert (taken.attempt, name, epoch) == known or taken.attempt > known[0], "an attempt was given twice"
        assert (taken.attempt, name, epoch) == known or before >= self.settling_until, "taken while settling"
        assert before - max(renewed, process.tried) <= LEASE, "a run was taken without a lease"
        assert all(other.host.epoch <= epoch for other in self.of(name)), "a run was taken under an old epoch"
        has_begun = taken.attempt - 1 > self.returned.get(number, 0)
        assert not has_begun or self.policies[number] == "again", "a run ran twice against its policy"
        self.attempts[number] = (taken.attempt, name, epoch)
        if taken.ahead:
            process.waiting.add(number)
        process.holds[number] = taken.attempt

    async def give_back(self, process: Process, number: int, attempt: int) -> None:
        process.holds.pop(number)  # whatever comes of it, it does not begin
        process.waiting.discard(number)
        process.leaving.add(number)
        self.returned[number] = (
            self.returned.get(number, 0) + 1
        )  # another may take it before the answer is read
        if await self.said(process.host.give_back(number, attempt)) is False:
            self.returned[number] -= 1
        process.leaving.discard(number)

    async def finish(self, process: Process, number: int, attempt: int) -> None:
        process.waiting.discard(number)
        outcome = {"exit": 0, "by": f"{process.host.facts.name} {process.host.epoch} {attempt}"}
        accepted = await self.said(process.host.finish(number, attempt, **outcome))
        if accepted is None:
            return
        if accepted:
            this = (process.host.id, process.host.epoch, attempt)
            assert self.ends.setdefault(number, this) == this, "a run ended twice"
            assert self.attempts[number][0] == attempt, "the end of an old attempt was accepted"
        process.holds.pop(number, None)

    async def said(self, call: Any) -> bool | None:
        """Return what the fleet says, or None if it cannot say now."""
        try:
            return bool(await call)
        except FleetUnreachable as error:
            settling = "lost its last commits" in str(error)
            assert not settling or self.now < self.settling_until + 5, "the fleet is still settling"
            return None

    async def renew(self, process: Process) -> None:
        before = process.tried = self.now
        orders = await process.host.renew()
        if orders is None:
            process.refused = True
            process.holds.clear()
            return
        if before - process.answered > LEASE / 2:
            process.since = before
        process.asked, process.answered = before, self.now

    async def reap(self, process: Process) -> None:
        before = self.now
        calm = before >= max(self.quiet_until, self.settling_until)
        if await process.host.fleet.reap():
            assert calm, "a host was given up in the quiet time"
            assert self.now - process.since >= STEADY, "a host that was not steady gave up another"

    # What must hold

    def of(self, name: str) -> list[Process]:
        return [each for each in (*self.current.values(), *self.frozen) if each.host.facts.name == name]

    async def check(self) -> None:
        assert self.fleet.lanes_are_right(), "the counts of lanes or hosts are wrong"
        # What was paused goes on whether there is room or not.
        ((used, continued),) = self.fleet.sql(
            "select used, (select count(*) from fleet.pauses join fleet.runs using (number) where not paused)"
            " from fleet.lanes"
        )
        assert used <= WIDTH + continued, "a lane is too wide"
        holders: dict[int, list[str]] = {}
        for process in (*self.current.values(), *self.frozen):
            if self.now - process.asked <= FUSE:
                for number in process.holds:
                    if number not in self.ends:
                        holders.setdefault(number, []).append(
                            f"{process.host.facts.name} {process.host.epoch}"
                        )
        assert all(len(names) == 1 for names in holders.values()), f"two hosts run the same: {holders}"
        for view in await self.fleet.fleet.hosts():
            for process in self.of(view.name):
                if view.epoch > process.host.epoch:
                    gone = self.now - process.asked
                    assert gone >= LEASE + SLACK - 1, "a host was given up too early"
                    process.holds.clear()
        for number, (host, epoch, attempt) in self.ends.items():
            ended = self.fleet.sql(
                f"select host, epoch, attempt, outcome ? 'by' from fleet.runs where number = {number}"
            )
            assert ended == [(host, epoch, attempt, True)], "an end was overwritten"
