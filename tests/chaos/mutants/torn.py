"""Every statement is a transaction of its own."""

from __future__ import annotations

from errands.stores.sqlite.connection import Connection
from tests.chaos.surgery import exchange

SCENARIO = "ends_half_recorded"
CAUGHT_BY = "I5"


def break_engine() -> None:
    exchange(Connection, "__enter__", _enter)
    exchange(Connection, "__exit__", _leave)


def _enter(connection: Connection) -> Connection:
    return connection


def _leave(connection: Connection, *_: object) -> None: ...
