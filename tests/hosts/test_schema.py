"""The fleet's tables: created once, refused when newer, and used with few rights."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import psycopg
import pytest

from errands.hosts.fleet import PostgresFleet, queue_of
from errands.model.errors import BadValue, FleetError, FleetTooNew, FleetUnreachable
from tests.hosts.fleets import Fleet, facts, placed
from tests.postgres import Server


async def test_hosts_that_come_at_once_create_the_tables_once(database: str) -> None:
    fleets = [PostgresFleet(database) for _ in range(5)]
    await asyncio.gather(*(fleet.open() for fleet in fleets))

    assert await fleets[0].hosts() == []
    for fleet in fleets:
        await fleet.close()


async def test_newer_tables_are_refused(fleet: Fleet) -> None:
    fleet.sql("update fleet.clock set version = 99")

    with pytest.raises(FleetTooNew, match=r"version 99.*upgrade Errands on this host"):
        await fleet.connect().open()


async def test_what_is_no_address_is_refused_without_repeating_its_password() -> None:
    with pytest.raises(BadValue, match="postgresql://USER@HOST/DATABASE") as caught:
        PostgresFleet("mysql://me:secret@host/db")
    assert "secret" not in str(caught.value)


async def test_a_server_that_is_not_there_is_named() -> None:
    fleet = PostgresFleet("postgresql://me:secret@/fleet?host=/nonexistent")
    with pytest.raises(FleetUnreachable, match=r"\(fleet at /nonexistent\) does not answer") as caught:
        await fleet.open()
    assert "secret" not in str(caught.value)


@pytest.fixture
def role(postgres: Server) -> str:
    postgres.execute("drop role if exists small")
    postgres.execute("create role small login")
    return "small"


async def test_a_host_needs_no_rights_but_to_call_the_protocol(fleet: Fleet, role: str) -> None:
    other = PostgresFleet(fleet.server.url(fleet.name, user=role))
    with pytest.raises(FleetError, match=r"select fleet.grant_host\('small'\)"):
        await other.open()

    fleet.sql(f"select fleet.grant_host('{role}')")

    await other.open()
    lease = await other.join(facts("build1"))
    number = await other.offer(placed("a"))
    async with aclosing(other.taken(host=facts("build1"))) as runs:  # type: ignore[type-var]
        assert (await anext(runs)).number == number
    assert await other.finish(number, attempt=1, host="id-build1", epoch=1, outcome={"exit": 0})
    assert await other.renew("id-build1", lease.epoch, free=4)
    assert await other.reap() == 0
    await other.close()
    with psycopg.connect(fleet.server.url(fleet.name, user=role), autocommit=True) as connection:
        tables = fleet.sql(
            "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname like 'fleet%'"
        )
        for (table,) in tables:
            for statement in (f"select * from {table}", f"delete from {table}", f"truncate {table}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement.encode())
        inside = ("admit()", "take(1, 'x', 1)", "grant_host('small')", "wake('x')")
        for call in inside:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"select fleet.{call}".encode())


async def test_a_role_that_may_not_create_tables_is_told_what_to_do(
    postgres: Server, database: str, role: str
) -> None:
    fleet = PostgresFleet(database.replace("postgres@", f"{role}@"))

    with pytest.raises(FleetError, match="'small' may not create the fleet's tables"):
        await fleet.open()


async def test_a_queue_has_one_name_on_both_sides(fleet: Fleet) -> None:
    for selector in ("*", "gpu", "x" * 32, "x" * 33, "ü" * 16, "ü" * 17, "Zürich, rack 7 %s {}"):
        ((name,),) = await fleet.fleet._connections.rows("select fleet.queue_of(%s)", selector)
        assert queue_of(selector) == name
