"""The outlook of runs that no host has yet: what keeps them from starting, and a file with that.

The host process asks the fleet and writes the file; whatever shows a task of this home reads it.
"""

from __future__ import annotations

import os

from errands.model.record import record
from errands.ports import rundir
from errands.ports.own_file import open_file, replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal, Protocol

    from errands.ports.fleet.placement import Placement

    # Why a host takes no runs.
    Hindrance = Literal["gone", "silent", "draining", "no slots"]
    # The name or label of a host, and a lane.
    Wanted = tuple[str, str]

    class OutlookFleet(Protocol):
        async def outlook(self, wanted: Sequence[Wanted]) -> list[Outlook]:
            """Return what keeps runs for these hosts or labels, each in a lane, from starting."""


ALL: Wanted = ("", "")
_WORD = "waits"
_MOST = 1 << 20


@record
class Outlook:
    """What keeps runs for a host or label in a lane from starting.

    `is_name` says whether a host has that name. `ready` is how many hosts would take them if they had room,
    `others` are those that match but take none. A lane with a limit has a `width`, of which `used` is taken.
    While the fleet is `settling` nothing starts.
    """

    selector: str
    lane: str
    is_name: bool
    ready: int
    others: Mapping[str, Hindrance]
    width: int | None
    used: int
    settling: bool


def sought(host: str, where: Placement | None, lane: str) -> Wanted:
    """Return what a run of a task for this host, or with this label, waits for."""
    return (where and where.sought) or host, lane


def write(path: str, reasons: Mapping[Wanted, str]) -> None:
    """Replace the file; a reason for `ALL` counts where there is no other."""
    if not reasons:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        return
    facts = ({"host": host, "lane": lane, "why": why} for (host, lane), why in reasons.items())
    replace_file(path, b"".join(rundir.record_line(_WORD, each) for each in facts))


def read(path: str, wanted: Wanted) -> str:
    """Return why runs for a host or label wait in a lane; empty if that is not known."""
    try:
        file = open_file(path)
    except OSError:
        return ""
    try:
        lines = rundir.record_lines(os.read(file, _MOST))
    finally:
        os.close(file)
    found = [rundir.fields_of(line) for line in lines]
    known = {(each.get("host"), each.get("lane")): each.get("why", "") for each in found}
    return known.get(wanted) or known.get(ALL, "")
