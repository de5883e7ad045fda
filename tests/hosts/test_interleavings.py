"""Random interleavings of everything hosts do, and protocols broken on purpose that they must notice."""

from __future__ import annotations

import pytest

from tests.hosts.fleets import Fleet
from tests.hosts.world import World

STEPS = 60
TRIES = 25  # worlds in which a broken protocol must be noticed

# Each function of the protocol with one line taken away.
MUTANTS = {
    "no epoch in renewals": (
        "renew",
        "and (epoch = its_epoch or (epoch < its_epoch and instant < c.settling_until))",
        "",
    ),
    "no epoch in takes": ("take", "h.epoch is distinct from its_epoch or ", ""),
    "no lease in takes": ("take", " or h.lease_until <= clock_timestamp()", ""),
    "no attempt": ("has", "r.attempt = its_attempt and ", ""),
    "no quiet time": (
        "reap",
        "if instant < c.quiet_until or instant < c.settling_until then",
        "if false then",
    ),
    "no settling": ("take", "or clock_timestamp() < c.settling_until", ""),
    "no slack": ("reap", "lease_until < instant - c.slack", "lease_until < instant + c.lease / 2"),
    "no policy": ("may_run_again", "r.policy = 'again'", "true"),
    "no lane": ("enter_lane", "and used < width", ""),
    "no count": ("end_run", "perform fleet.leave_lane(r.lane);", "null;"),
}


def empty(fleet: Fleet) -> None:
    fleet.sql("truncate fleet.runs, fleet.hosts, fleet.lanes, procrastinate_jobs cascade")
    fleet.sql("update fleet.clock set quiet_until = '-infinity', settling_until = '-infinity'")


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


@pytest.mark.parametrize("mutant", MUTANTS)
async def test_a_broken_protocol_is_noticed(fleet: Fleet, mutant: str) -> None:
    name, old, new = MUTANTS[mutant]
    ((source,),) = fleet.sql(
        "select pg_get_functiondef(p.oid) from pg_proc p join pg_namespace n on n.oid = pronamespace "
        f"where nspname = 'fleet' and proname = '{name}'"
    )
    assert old in source, "the mutant is stale: adapt it to the function"
    fleet.sql(source.replace(old, new))

    noticed = ""
    for seed in range(TRIES):
        try:
            await World(fleet, seed).live(STEPS)
        except AssertionError as error:
            noticed = str(error)
            break
        empty(fleet)
    assert noticed
