"""The tables and functions of a fleet: created once, and upgraded by the first newer host."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import procrastinate.schema
import psycopg
from psycopg import errors

from errands.model.errors import FleetError, FleetTooNew, FleetUnreachable

if TYPE_CHECKING:
    from errands.hosts.connections import Connections

VERSION = 8
_TABLES = "tables.sql"
_FUNCTIONS = (
    "admission.sql",
    "input.sql",
    "hosts.sql",
    "runs.sql",
    "turns.sql",
    "agents.sql",
    "loss.sql",
    "output.sql",
    "anywhere.sql",
    "notices.sql",
    "rights.sql",
)
# What each version changes in the tables of the one before; its functions simply replace the old ones.
_UPGRADES: dict[int, str] = {
    2: """
    alter table fleet.runs drop constraint runs_state_check;
    alter table fleet.runs add check (state in ('queued', 'offered', 'taken', 'ended', 'doubted'));
    alter table fleet.runs drop constraint runs_policy_check;
    alter table fleet.runs add check (policy in ('lost', 'again', 'steps'));
    drop index fleet.results;
    create index results on fleet.runs (home) where state in ('taken', 'ended', 'doubted') and not acked;
    alter table fleet.requests drop constraint requests_wish_check;
    alter table fleet.requests add check (wish in ('cancel', 'approve', 'reject', 'resume', 'keep'));
    alter table fleet.requests add token text not null default '', add result text not null default '';
    drop index fleet.open_requests;
    create unique index requests_by_token on fleet.requests (home, task, wish, token) where reply is null;
    drop function fleet.request, fleet.requests_of, fleet.reply, fleet.reply_to;
    """,
    3: "",  # tables of its own, which `input.sql` creates
    4: """
    alter table fleet.requests drop constraint requests_wish_check;
    alter table fleet.requests add
        check (wish in ('cancel', 'approve', 'reject', 'resume', 'keep', 'send', 'pause', 'unpause'));
    alter table fleet.runs add paused boolean not null default false;
    do $$
    begin
        -- What is paused leaves its lane; before version 3 nothing was.
        if to_regclass('fleet.pauses') is not null then
            update fleet.runs r set paused = true from fleet.pauses p where p.number = r.number and p.wanted;
            update fleet.lanes l set used = used - (
                select count(*) from fleet.runs r where r.lane = l.name and r.state = 'taken' and r.paused
            );
            alter table fleet.pauses drop column wanted;
        end if;
    end
    $$;
    """,
    5: "",  # a function of its own
    6: """
    drop type if exists fleet.offering;
    create type fleet.offering as (
        home text, key text, task text, selector text, lane text, priority integer, policy text, body jsonb,
        had_host boolean
    );
    drop function if exists fleet.enter_lane, fleet.take, fleet.finish;
    drop index if exists fleet.runs_by_key;
    alter table fleet.runs drop constraint if exists runs_home_key_key,
        drop constraint if exists runs_key_home_key, add unique (key, home);
    """,
    7: """
    alter table fleet.runs add ahead boolean not null default false, add returned integer not null default 0;
    drop function if exists fleet.turn, fleet.take_queued;
    """,
    8: """
    alter table fleet.hosts add has_left boolean not null default false;
    alter table fleet.clock add remembered interval not null default '7 days';
    """,
}
_LOCK = 7203331


async def prepare(connections: Connections) -> None:
    """Create or upgrade the fleet in a database; do nothing if it is there."""
    try:
        async with await connections.connect() as connection:
            found = await _version(connection, connections)
            if found is None or found < VERSION:
                await _install(connection, connections, found)
            elif found > VERSION:
                raise FleetTooNew(
                    f"the fleet in {connections.place} has tables of version {found}, and this Errands knows "
                    f"version {VERSION}; upgrade Errands on this host"
                )
    except psycopg.OperationalError as error:
        raise FleetUnreachable(connections.unreachable(error)) from error


async def _version(connection: psycopg.AsyncConnection[Any], connections: Connections) -> int | None:
    try:
        cursor = await connection.execute("select fleet.version()")
        row = await cursor.fetchone()
    except (errors.InvalidSchemaName, errors.UndefinedFunction):
        return None
    except errors.InsufficientPrivilege as error:
        raise FleetError(connections.forbidden) from error
    return None if row is None else int(row[0])


async def _install(
    connection: psycopg.AsyncConnection[Any], connections: Connections, before: int | None
) -> None:
    try:
        async with connection.transaction():
            await connection.execute("set local statement_timeout = '60s'")
            await connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
            found = await _version_inside(connection)
            if found == VERSION:
                return
            if found is None:
                await connection.execute("create schema fleet")
                await connection.execute("create schema fleet_wire")
                await connection.execute("set local search_path = fleet_wire")
                await connection.execute(_wire_schema().encode())
                await connection.execute(_read(_TABLES).encode())
                await connection.execute("insert into fleet.clock (version) values (%s)", (VERSION,))
            else:
                for version in range(found + 1, VERSION + 1):
                    await connection.execute(_UPGRADES[version].encode())
                await connection.execute("update fleet.clock set version = %s", (VERSION,))
            for name in _FUNCTIONS:
                await connection.execute(_read(name).encode())
    except errors.InsufficientPrivilege as error:
        raise FleetError(_cannot_install(connections, before)) from error


def _cannot_install(connections: Connections, before: int | None) -> str:
    if before is None:
        return (
            f"the role {connections.role!r} may not create the fleet's tables in {connections.place}; "
            "let the owner of the database join a host first, and then: "
            f"select fleet.grant_host('{connections.role}')"
        )
    return (
        f"the role {connections.role!r} may not upgrade the fleet's tables in {connections.place} "
        f"from version {before} to {VERSION}; let the owner of the database join a host of this version first"
    )


async def _version_inside(connection: psycopg.AsyncConnection[Any]) -> int | None:
    """Look again, inside the transaction: another host may have been faster."""
    cursor = await connection.execute("select to_regclass('fleet.clock') is not null")
    row = await cursor.fetchone()
    if row is None or not row[0]:
        return None
    cursor = await connection.execute("select version from fleet.clock")
    row = await cursor.fetchone()
    return None if row is None else int(row[0])


def _read(name: str) -> str:
    return resources.files("errands.hosts").joinpath("sql", name).read_text(encoding="utf-8")


def _wire_schema() -> str:
    return procrastinate.schema.SchemaManager.get_schema()
