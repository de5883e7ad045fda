"""Every statement is a transaction of its own, once the schema is there."""

from __future__ import annotations

from errands.stores.sqlite.connection import Connection
from errands.stores.sqlite.migrations import MIGRATIONS
from tests.chaos.patch import patch

SCENARIO = "ends_half_recorded"
CAUGHT_BY = "I5"

enter, leave = Connection.__enter__, Connection.__exit__


def break_engine() -> None:
    patch(Connection, "__enter__", _enter)
    patch(Connection, "__exit__", _leave)


def _enter(connection: Connection) -> Connection:
    # A schema that is made bit by bit would keep the others from starting, and nothing would be recorded.
    is_made = connection.read("PRAGMA user_version")[0][0] == len(MIGRATIONS)
    return connection if is_made else enter(connection)


def _leave(connection: Connection, kind: object, error: object, trace: object) -> None:
    if connection._depth:
        leave(connection, kind, error, trace)
