"""The clock of the database is set ahead and back: nothing waits for it, and no run is had twice."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from tests.chaos.fleet.clocks import HOUR, make_steppable
from tests.hosts.fleets import Fleet, Host, empty, placed

pytestmark = pytest.mark.spec("X12")

FUSE = 22.0  # seconds after its last renewal when a host has ended what it had of other homes
RENEWAL = 5.0
CALM = 240.0  # seconds in which all that was left is taken up again


@dataclass(eq=False)
class Member:
    """A host as it sees itself; `renewed` is by its own clock."""

    host: Host
    renewed: float = 0.0
    holds: dict[int, int] = field(default_factory=dict)


class Jumpy:
    """Two hosts, and a clock that jumps; real time passes only by `wait`."""

    def __init__(self, fleet: Fleet, seed: int) -> None:
        self.fleet = fleet
        self.dice = random.Random(seed)
        self.uptime, self.offset = 0.0, 0.0
        self.members: list[Member] = []
        self.keys: dict[int, str] = {}

    async def begin(self) -> None:
        await self.fleet.fleet.set_lane("default", 3)
        for name in ("one", "two"):
            self.members.append(Member(await self.fleet.host(name, slots=2)))

    def wait(self, seconds: float) -> None:
        self.uptime += seconds
        self._set_clock()

    def jump_somewhere(self) -> None:
        self.jump(self.dice.choice((-HOUR, -20.0, 0.0, 20.0, HOUR)))

    def jump(self, to: float) -> None:
        self.offset = to
        self._set_clock()

    def _set_clock(self) -> None:
        self.fleet.sql(f"update chaos.step set seconds = {self.offset + self.uptime}")

    async def renew(self, member: Member) -> None:
        if await member.host.renew() is None:  # it was given up: what it had is ended, and it joins anew
            member.holds.clear()
            lease = await member.host.fleet.join(member.host.facts)
            member.host.epoch = lease.epoch
        member.renewed = self.uptime
        await member.host.fleet.reap()

    async def take(self, member: Member) -> None:
        for taken in await member.host.take_next(known=list(member.holds)):
            for other in self.members:
                is_live = self.uptime - other.renewed < FUSE
                assert not (other is not member and is_live and taken.number in other.holds), "had twice"
                other.holds.pop(taken.number, None)
            member.holds[taken.number] = taken.attempt

    async def finish(self, member: Member) -> None:
        for number, attempt in list(member.holds.items()):
            await member.host.finish(number, attempt)
            del member.holds[number]

    async def act(self) -> None:
        member = self.dice.choice(self.members)
        match self.dice.choice(("offer", "offer", "take", "take", "finish", "wait", "silence", "jump")):
            case "offer":
                policy = self.dice.choice(("lost", "again"))
                number = await self.fleet.fleet.offer(placed(policy=policy))  # type: ignore[arg-type]
                self.keys[number] = policy
            case "take":
                await self.take(member)
            case "finish":
                await self.finish(member)
            case "wait":
                await self.live(self.dice.choice((5, 40, 80)))
            case "silence":
                await self.live(self.dice.choice((5, 20, 60)), silent=member)
                self.jump_somewhere()
                await self.take(self.dice.choice(self.members))
                await self.live(self.dice.choice((5, 20)), silent=member)
                await self.take(self.dice.choice(self.members))
            case _:
                self.jump_somewhere()

    async def live(self, seconds: float, silent: Member | None = None) -> None:
        """Let real time pass, in which all hosts but one renew."""
        for _ in range(round(seconds / RENEWAL)):
            self.wait(RENEWAL)
            for member in self.members:
                if member is not silent:
                    await self.renew(member)

    def left(self) -> list[tuple[object, ...]]:
        return self.fleet.sql("select state, host, offered from fleet.runs where state <> 'ended'")

    async def settle(self) -> None:
        """Let one host work in peace until everything has ended; the other one does not come back."""
        self.dice.shuffle(self.members)
        one, dead = self.members
        await self.take(dead)
        until = self.uptime + CALM
        while self.left() and self.uptime < until:
            await self.live(RENEWAL, silent=dead)
            await self.take(one)
            await self.finish(one)


@pytest.fixture
def jumpy(fleet: Fleet) -> Fleet:
    """A fleet whose clock can be stepped."""
    make_steppable(fleet.server, fleet.name)
    return fleet


async def test_whenever_the_clock_jumps_everything_ends_and_nothing_is_had_twice(jumpy: Fleet) -> None:
    for seed in range(12):
        story = Jumpy(jumpy, seed)
        story.jump(0.0)
        await story.begin()
        for _ in range(40):
            await story.act()
        await story.settle()

        assert story.keys
        assert story.left() == [], f"seed {seed}"
        assert jumpy.lanes_are_right()
        empty(jumpy)


async def test_an_offer_that_a_host_used_up_in_vain_is_made_again_after_the_clock_was_set_back(
    jumpy: Fleet,
) -> None:
    story = Jumpy(jumpy, 0)
    await story.begin()
    one, two = story.members
    story.jump(HOUR)
    await story.renew(one)
    number = await jumpy.fleet.offer(placed("a"))
    await story.take(two)  # the clock has taken its lease away
    assert two.holds == {}
    assert jumpy.sql("select state from fleet.runs") == [("offered",)]

    story.jump(0.0)
    await story.live(2 * RENEWAL)

    await story.take(one)
    assert one.holds.keys() == {number}
