"""Protocols of the fleet that are broken on purpose: random interleavings must notice each of them."""

from __future__ import annotations

import pytest

from tests.hosts.conftest import fleet
from tests.hosts.fleets import Fleet, empty
from tests.hosts.test_interleavings import STEPS
from tests.hosts.world import World

__all__ = ["fleet"]
TRIES = 40  # worlds in which a broken protocol must be noticed
FIRST = 20  # of them: the rarest breakage shows in this one, the others within five more

# Each function of the protocol with one line taken away.
MUTANTS = {
    "no epoch in renewals": (
        "renew",
        "and (epoch = its_epoch or (epoch < its_epoch and instant < c.settling_until))",
        "",
    ),
    "no epoch in takes": ("take", "h.epoch is distinct from its_epoch or ", ""),
    "no lease in takes": ("take", " or h.lease_until <= clock_timestamp()", ""),
    "no attempt": ("finish_all", "and r.attempt = e.attempt", ""),
    "no epoch in turns": ("turn", "h.epoch = its_epoch and ", ""),
    "no quiet time": (
        "reap",
        "if instant < c.quiet_until or instant < c.settling_until then",
        "if false then",
    ),
    "no settling": ("take", "or clock_timestamp() < c.settling_until", ""),
    "no slack": ("reap", "lease_until < instant - c.slack", "lease_until < instant + c.lease / 2"),
    "no policy": ("may_run_again", "r.policy = 'again'", "true"),
    "no lane": ("room_in_lane", "greatest(width - used, 0)", "100"),
    "no count": ("end_run", "perform fleet.leave_lane(r.lane);", "null;"),
}


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
    for seed in range(FIRST, FIRST + TRIES):
        try:
            await World(fleet, seed).live(STEPS)
        except AssertionError as error:
            noticed = str(error)
            break
        empty(fleet)
    assert noticed
