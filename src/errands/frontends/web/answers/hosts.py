"""The hosts of the fleet, which are asked for in the event loop: their database may be far away, or down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from errands.engine.fleet.host_watch import HostWatch
from errands.frontends.web.api.shapes import shaped
from errands.frontends.web.guard import RefusalError
from errands.model.errors import ErrandsError
from errands.model.text.sanitise import line
from errands.model.view import plain_value


async def list_hosts(watch: HostWatch) -> dict[str, Any]:
    """Return the hosts, none if this home is not in a fleet; say why if they cannot be listed."""
    if not watch.is_member:
        return {"member": False, "hosts": []}
    try:
        found = await watch.hosts()
    except ErrandsError as error:
        raise RefusalError(503, line(str(error)), type(error).__name__) from error
    now = datetime.now(UTC)
    return {
        "member": True,
        "hosts": [
            shaped(
                "Host",
                each,
                seen_at=plain_value(now - timedelta(seconds=each.seen)),
                own=each.id == watch.own,
            )
            for each in found
        ],
    }
