"""Start the viewer, or say what it needs."""

from __future__ import annotations

import os
import sys

from errands.engine.engine import Engine
from errands.model.errors import BadValue, missing_extra
from errands.text import Look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.fleet.member import OpenFleet


def run(engine: Engine, *, look: Look, open_fleet: OpenFleet) -> int:
    """Show all tasks until the person leaves."""
    if (
        not all(each.isatty() for each in (sys.stdin, sys.stdout, sys.stderr))
        or os.environ.get("TERM", "dumb") == "dumb"
    ):
        raise BadValue("errands top needs a terminal; without one, errands ls lists the tasks")
    try:
        from errands.frontends.top.app import TopApp
    except ModuleNotFoundError as error:
        raise missing_extra("errands top", "tui", error) from error
    from errands.engine.fleet.host_watch import HostWatch

    hosts = HostWatch(engine.home, open_fleet)
    return TopApp(engine, look=look, hosts=hosts).run() or 0
