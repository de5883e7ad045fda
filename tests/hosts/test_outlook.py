"""The outlook: what the fleet says about runs that no host has."""

from __future__ import annotations

import pytest

from errands.ports.fleet.outlook import Outlook
from tests.hosts.fleets import Fleet, placed

pytestmark = pytest.mark.spec("X12")


async def outlook(fleet: Fleet, selector: str, lane: str = "default") -> Outlook:
    (found,) = await fleet.fleet.outlook([(selector, lane)])
    return found


async def test_it_names_the_hosts_that_fit_and_why_they_take_nothing(fleet: Fleet) -> None:
    nothing = await outlook(fleet, "gpu")
    assert (nothing.ready, nothing.is_name, nothing.others) == (0, False, {})
    assert (nothing.width, nothing.used, nothing.settling) == (None, 0, False)
    ready = await fleet.host("ready", labels=("gpu",))
    drained = await fleet.host("drained", labels=("gpu",))
    await fleet.host("laptop", labels=("gpu",), slots=0)
    await fleet.host("silent", labels=("gpu",))
    await fleet.host("gone", labels=("gpu",))
    await fleet.host("unfit")
    await fleet.fleet.drain("drained", wanted=True)
    fleet.pass_time(31, host="silent")
    fleet.sql("update fleet.hosts set state = 'gone' where name = 'gone'")

    found = await outlook(fleet, "gpu")
    assert (found.ready, found.is_name) == (1, False)
    words = {"drained": "draining", "laptop": "no slots", "silent": "silent", "gone": "gone"}
    assert found.others == words

    its = await outlook(fleet, drained.facts.name)
    assert (its.ready, its.is_name, its.others) == (0, True, {"drained": "draining"})
    await ready.fleet.leave(ready.id, ready.epoch)
    assert (await outlook(fleet, "gpu")).ready == 0


async def test_it_tells_of_full_lanes_and_answers_about_several_at_once(fleet: Fleet) -> None:
    host = await fleet.host("big")
    await fleet.fleet.set_lane("gpu", 1)
    number = await fleet.fleet.offer(placed("a", lane="gpu"))
    assert await host.take(number)

    full, free = await fleet.fleet.outlook([("big", "gpu"), ("nobody", "other")])

    assert (full.selector, full.lane, full.ready, full.width, full.used) == ("big", "gpu", 1, 1, 1)
    assert (free.selector, free.lane, free.ready, free.width) == ("nobody", "other", 0, None)
    fleet.sql("update fleet.clock set settling_until = clock_timestamp() + interval '1 minute'")
    assert (await outlook(fleet, "big")).settling
    assert await fleet.fleet.outlook([]) == []
