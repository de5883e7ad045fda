"""Random interleavings of everything hosts do."""

from __future__ import annotations

from tests.hosts.fleets import Fleet, empty
from tests.hosts.world import World

STEPS = 60


async def test_whatever_hosts_do_no_run_is_had_twice(fleet: Fleet) -> None:
    ends, repeated = 0, 0
    for seed in range(8):
        world = World(fleet, seed)
        await world.live(STEPS)
        ends += len(world.ends)
        repeated += sum(attempt > 1 for attempt, _, _ in world.attempts.values())
        empty(fleet)

    assert ends > 10
    assert repeated
