"""Membership: joining a fleet, leaving it, and what a home can ask about it."""

from __future__ import annotations

import os
import socket
from contextlib import asynccontextmanager

from errands.engine.fleet.far_task import state_of
from errands.engine.fleet.guest import GuestNotes
from errands.engine.fleet.placed_run import LANE
from errands.model.errors import BadValue, FleetUnreachable, IllegalMove
from errands.model.options.draft import HERE
from errands.ports.fleet import membership
from errands.ports.fleet.membership import Membership, read_url
from errands.text import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from errands.engine.engine import Engine
    from errands.ports.fleet import Fleet, FleetLane, HostView, PlacedView
    from errands.ports.home import Home

    OpenFleet = Callable[[str], Fleet]

SCHEMES = ("postgresql://", "postgres://")
_UP = ("up", "draining")


def require(home: Home) -> Membership:
    """Return the membership of a home; refuse a home that has none."""
    found = membership.read(home.fleet)
    if found is None:
        raise BadValue("this home is not in a fleet; join one: errands host join URL")
    return found


@asynccontextmanager
async def opened(home: Home, open_fleet: OpenFleet) -> AsyncIterator[Fleet]:
    """Reach the fleet of a home for a while."""
    fleet = open_fleet(require(home).address())
    try:
        await fleet.open()
        yield fleet
    finally:
        await fleet.close()


async def join(
    engine: Engine, open_fleet: OpenFleet, url: str, *, name: str, labels: Sequence[str], slots: int
) -> Membership:
    """Check that the fleet can be joined under this name, and write down that this home belongs to it."""
    if not url.startswith("env:") and not url.startswith(SCHEMES):
        shown, colon, _ = url.partition(":")  # a password may follow
        raise BadValue(
            "the address of a fleet begins with postgresql:// or is env:NAME "
            f"(got {shown[:20] + colon!r}{'...' if colon else ''})"
        )
    before = membership.read(engine.home.fleet)
    if before is not None and read_url(before.url) != read_url(url):
        raise IllegalMove("this home belongs to another fleet; leave that one first: errands host leave")
    me = Membership(
        id=os.urandom(8).hex() if before is None else before.id,
        url=url,
        name=_checked(name or (before.name if before else socket.gethostname().partition(".")[0])),
        labels=tuple(_checked(each) for each in labels),
        slots=slots,
    )
    fleet = open_fleet(me.address())
    try:
        await fleet.open()
        for host in await fleet.hosts():
            if host.name == me.name and host.id != me.id and host.state in _UP:
                raise BadValue(
                    f"another host of this fleet is named {me.name!r} (last seen {host.seen:.0f} s ago); "
                    "choose another --name"
                )
    finally:
        await fleet.close()
    engine.queue.set_lane(LANE, max(slots, 1))
    membership.write(engine.home.fleet, me)
    return me


async def leave(engine: Engine, open_fleet: OpenFleet, *, is_forced: bool) -> str:
    """Forget the fleet, and give up this host's place in it; return its name."""
    me = require(engine.home)
    placed = sum(1 for task, _ in engine.running() if task.host)
    guests = len(GuestNotes(engine.home).read())
    if (placed or guests) and not is_forced:
        runs = [
            *([f"other hosts run {plural(placed, 'task')} of this home"] if placed else []),
            *([f"this host runs {plural(guests, 'task')} of other homes"] if guests else []),
        ]
        raise IllegalMove(
            f"{' and '.join(runs)}; wait until that has ended (after errands host drain this host takes "
            "no more), or leave with --force, and it is lost"
        )
    fleet = open_fleet(me.address())
    try:
        await fleet.open()
        for host in await fleet.hosts():
            if host.id == me.id and host.state in _UP:
                await fleet.leave(me.id, host.epoch)
    except FleetUnreachable:
        if not is_forced:
            raise
    finally:
        await fleet.close()
    os.unlink(engine.home.fleet)
    return me.name


async def drain(home: Home, open_fleet: OpenFleet, name: str | None, *, wanted: bool) -> str:
    """Let a host take no more runs, or take them again; return its name."""
    name = name or require(home).name
    async with opened(home, open_fleet) as fleet:
        if not await fleet.drain(name, wanted=wanted):
            known = ", ".join(host.name for host in await fleet.hosts() if host.state in _UP)
            raise BadValue(f"unknown host {name!r}; the hosts of the fleet: {known or 'none'}")
    return name


async def hosts(home: Home, open_fleet: OpenFleet) -> list[HostView]:
    async with opened(home, open_fleet) as fleet:
        return await fleet.hosts()


async def lanes(
    home: Home, open_fleet: OpenFleet, name: str | None, *, sets: bool = False, width: int | None = None
) -> list[FleetLane]:
    """List the lanes of the fleet, or the one of this name; if `sets`, change its limit first."""
    async with opened(home, open_fleet) as fleet:
        if sets and name is not None:
            await fleet.set_lane(name, width)
        found = await fleet.lanes()
    return [each for each in found if name in (None, each.name)]


async def placed(home: Home, open_fleet: OpenFleet, *, limit: int) -> list[tuple[PlacedView, str, str]]:
    """List what is placed in the whole fleet, newest first: each with the name of its home and its state."""
    async with opened(home, open_fleet) as fleet:
        names = {host.id: host.name for host in await fleet.hosts()}
        return [
            (each, names.get(each.home, each.home), state_of(each.outcome, is_taken=each.state == "taken"))
            for each in await fleet.placed(limit=limit)
        ]


def _checked(name: str) -> str:
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    if not plain.isascii() or not plain.isalnum():
        hint = "; give --label once for each" if "," in name else ""
        raise BadValue(
            f"names and labels of hosts have letters, digits, '-', '_' and '.' (got {name!r}){hint}"
        )
    if name == HERE:
        raise BadValue(f"{name!r} means each host itself; choose another name or label")
    return name
