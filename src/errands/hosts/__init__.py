"""Many hosts: the fleet's agreement in a PostgreSQL database (the extra `hosts`).

`sql/` is the protocol: tables that only its functions touch, where each call is one transaction and names the
epoch and the attempt it is about. procrastinate carries the offers to hosts; it decides nothing.
"""

from __future__ import annotations

from errands.model.errors import missing_extra

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.fleet import Fleet


def open_fleet(address: str) -> Fleet:
    """Return the fleet in the database at an address; refuse without the libraries for it."""
    try:
        from errands.hosts.fleet import PostgresFleet
    except ModuleNotFoundError as error:
        raise missing_extra("a fleet", "hosts", error) from error
    return PostgresFleet(address)
