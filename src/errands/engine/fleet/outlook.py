"""Why runs of this home that no host has yet are waiting: asked of the fleet, and noted for frontends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from errands.model.errors import FleetUnreachable
from errands.ports.fleet.input import KEPT_BACK
from errands.ports.fleet.outlook import ALL, sought, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from errands.engine.engine import Engine
    from errands.model.task import Task
    from errands.ports.fleet import Fleet, FoundRun
    from errands.ports.fleet.outlook import Hindrance, Outlook, Wanted
    from errands.ports.fleet.placement import Placement

LOOK = 2.0  # seconds between two questions to the fleet, while something waits
MOST_NAMED = 3  # hosts that a reason names
UNREACHABLE = "the database of the fleet does not answer"
_WORDS: dict[Hindrance, str] = {
    "gone": "is gone",
    "silent": "is out of touch",
    "draining": "is draining",
    "no slots": "has no slots",
}


class OutlookSide:
    def __init__(
        self, engine: Engine, fleet: Fleet, unplaced: Callable[[], Sequence[tuple[Task, Placement]]]
    ) -> None:
        """`unplaced` returns the tasks with runs that no host has yet."""
        self._engine = engine
        self._fleet = fleet
        self._unplaced = unplaced
        self._noted: dict[Wanted, str] | None = None  # the note may be that of an earlier process

    async def work(self) -> None:
        """Ask the fleet about everything that waits, and note the answers."""
        wanted = {sought(task.host, where, task.lane) for task, where in self._unplaced()}
        found: list[Outlook] = []
        if wanted or ALL in (self._noted or ()):
            try:
                found = await self._fleet.outlook(sorted(wanted))
            except FleetUnreachable:
                self.note_for_all(UNREACHABLE)
                raise
        self._note({(each.selector, each.lane): why(each) for each in found})

    def note_for_all(self, why: str) -> None:
        """Note why nothing that waits can start."""
        self._note({ALL: f"waiting for a host: {why}"})

    def _note(self, reasons: dict[Wanted, str]) -> None:
        if reasons != self._noted:
            write(self._engine.home.outlook, reasons)
            self._noted = reasons
            self._engine.bell.announce([task.id for task, _ in self._unplaced()])


async def why_it_waits(fleet: Fleet, run: FoundRun) -> str:
    """Return why no host has a run of any home; empty if one has, or had."""
    if run.state not in ("queued", "offered"):
        return ""
    if run.selector == KEPT_BACK:
        return "held"
    (found,) = await fleet.outlook([(run.selector, run.lane)])
    return why(found)


def why(found: Outlook) -> str:
    """Return what keeps runs from starting, in a sentence for people."""
    if found.settling:
        return "waiting for a host: the fleet is recovering from a failover, and starts nothing until then"
    if not found.ready:
        return f"waiting for a host: {_others(found)}"
    if found.width is not None and found.used >= found.width:
        limit = "limit 0: nothing starts" if not found.width else f"limit {found.width}"
        return f"waiting for room in lane {found.lane} of the whole fleet ({limit})"
    return f"waiting for a free slot on {found.selector if found.is_name else _labelled(found)}"


def _others(found: Outlook) -> str:
    """Return why none of the hosts that fit takes runs."""
    others = [*found.others.items()]
    if not others:
        return f"no host in the fleet has the name or label {found.selector}"
    if found.is_name:
        return f"{found.selector} {_WORDS[found.others[found.selector]]}"
    named = [f"{name} {_WORDS[each]}" for name, each in others[:MOST_NAMED]]
    rest = [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    return f"no {_labelled(found)[2:]} takes runs ({', '.join([*named, *rest])})"


def _labelled(found: Outlook) -> str:
    return f"a host with the label {found.selector}"
