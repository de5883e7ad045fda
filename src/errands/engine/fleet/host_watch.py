"""The hosts of the fleet, for views that stay open: the database is asked only while they are looked at."""

from __future__ import annotations

import asyncio
import os
import time

from errands.engine.fleet import member
from errands.model.errors import ErrandsError, FleetError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.fleet.member import OpenFleet
    from errands.ports.fleet import HostView
    from errands.ports.home import Home

FRESH = 2.0  # seconds for which an answer is shared by all who ask


class HostWatch:
    """Lists the hosts without blocking the event loop; no connection stays open."""

    def __init__(self, home: Home, open_fleet: OpenFleet) -> None:
        self._home = home
        self._open_fleet = open_fleet
        self._asked: asyncio.Task[list[HostView]] | None = None
        self._good_until = 0.0
        self.own = ""  # the id of this home in the fleet, as of the last answer

    @property
    def is_member(self) -> bool:
        """Whether this home belongs to a fleet."""
        return os.path.exists(self._home.fleet)

    async def hosts(self) -> list[HostView]:
        """List the hosts; all who ask at the same time share an answer, or the reason why there is none."""
        if self._asked is None or (self._asked.done() and time.monotonic() >= self._good_until):
            self._asked = asyncio.create_task(self._ask())
        return await asyncio.shield(self._asked)

    async def _ask(self) -> list[HostView]:
        try:
            me = member.require(self._home)
            self.own = me.id
            # The first call loads psycopg, which must not block the others.
            fleet = await asyncio.to_thread(self._open_fleet, me.address())
            try:
                await fleet.open()
                return await fleet.hosts()
            finally:
                await fleet.close()
        except ErrandsError:
            raise
        except Exception as error:  # of the database; a view continues whatever it is
            raise FleetError(f"the fleet cannot be asked: {error}") from error
        finally:
            self._good_until = time.monotonic() + FRESH
