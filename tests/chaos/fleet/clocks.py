"""Clocks that can be stepped: of the database, as its functions see it, and the wall clocks of homes."""

from __future__ import annotations

from pathlib import Path

from tests.postgres import Server

HOUR = 3600.0
HOOK = Path(__file__).with_name("clock")  # a folder with a sitecustomize.py
_DATABASE = "fleet1"


def make_steppable(server: Server, database: str = _DATABASE) -> None:
    """Let the functions of the fleet read a clock that can be stepped."""
    server.execute(
        "create schema chaos; create table chaos.step (seconds float8); insert into chaos.step values (0);"
        "create function chaos.clock_timestamp() returns timestamptz language sql volatile as"
        " 'select pg_catalog.clock_timestamp() + make_interval(secs => seconds) from chaos.step'",
        database=database,
    )
    for (source,) in functions(server, database=database):
        if "clock_timestamp()" in source:
            server.execute(source.replace("clock_timestamp()", "chaos.clock_timestamp()"), database=database)


def functions(server: Server, name: str = "%", *, database: str = _DATABASE) -> list[tuple[str]]:
    """Return the sources of the functions of the fleet."""
    found = server.execute(
        "select pg_get_functiondef(p.oid) from pg_proc p join pg_namespace n on n.oid = pronamespace "
        f"where nspname = 'fleet' and proname like '{name}' and prokind = 'f'",
        database=database,
    )
    return [(str(row[0]),) for row in found]


def step_server(server: Server, seconds: float, database: str = _DATABASE) -> None:
    server.execute(f"update chaos.step set seconds = {seconds}", database=database)


def exchange(server: Server, name: str, old: str, new: str) -> None:
    """Break a function of the fleet on purpose."""
    for (source,) in functions(server, name):
        assert old in source, f"the mutant is stale: adapt it to fleet.{name}"
        server.execute(source.replace(old, new), database=_DATABASE)
