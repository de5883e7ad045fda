"""A fleet of an older version: the first newer host upgrades it, and nothing in it is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import procrastinate.schema
import psycopg
import pytest

from errands.hosts import schema
from errands.hosts.fleet import PostgresFleet
from errands.model.errors import FleetError, FleetTooNew
from errands.ports.fleet import Reply
from tests.hosts.fleets import HOME, Fleet, Host, facts, placed
from tests.postgres import Server

pytestmark = pytest.mark.spec("X12", "L20")

OLD = Path(__file__).with_name("version1.sql")
OUTCOME = '{"exit": 0}'


@pytest.fixture
async def old(postgres: Server, database: str) -> AsyncIterator[Fleet]:
    """A fleet of version 1 in the middle of its work: runs in every state, and all that belongs to them.

    All of it was said through its own functions, as hosts of that version do.
    """
    name = database.partition("@/")[2].partition("?")[0]
    fleet = Fleet(PostgresFleet(database), postgres, name)
    fleet.sql("create schema fleet; create schema fleet_wire")
    fleet.sql(procrastinate.schema.SchemaManager.get_schema())
    fleet.sql(OLD.read_text())
    fleet.sql("insert into fleet.clock (version) values (1)")
    _work(fleet)
    yield fleet
    await fleet.close()


def _work(fleet: Fleet) -> None:
    sql = fleet.sql
    sql("select fleet.join('id-build1', 'build1', '{gpu}', 9, '0.1', 'boot-1')")
    sql("select fleet.set_lane('narrow', 1)")
    for key in ("taken", "stopped", "again", "ended", "acked", "failed"):
        policy = "again" if key == "again" else "lost"
        _offer(fleet, key, policy=policy)
    _take_all(fleet)
    for key in ("ended", "acked", "failed"):
        outcome = '{"exit": 3}' if key == "failed" else OUTCOME
        assert sql(f"select fleet.finish({_number(key)}, 1, 'id-build1', 1, '{outcome}')") == [("yes",)]
    sql(f"select fleet.acknowledge('{HOME}', '{{acked,failed}}', '{{failed}}')")
    sql(f"select fleet.cancel('{HOME}', 'stopped', 2)")
    number = _number("taken")
    piece = f"array[{number}], '{{1}}', '{{0}}', array['one'::bytea]"
    sql(f"select fleet.keep_output('id-build1', 1, {piece}, false)")
    sql(f"select fleet.report({number}, 1, 'id-build1', 1, '{{\"questions\": [7]}}')")
    sql(f"select fleet.keep_events({number}, 1, 'id-build1', 1, 0, '[\"one\", \"two\"]')")
    sql(f"select fleet.answer_agent({number}, 1, 7, '{{\"granted\": true}}')")
    sql(f"select fleet.request('{HOME}', 'task-1', 'cancel', '{{}}', 'ann')")
    done = sql(f"select fleet.request('{HOME}', 'task-2', 'cancel', '{{}}', 'ann')")[0][0]
    sql(f"select fleet.reply('{HOME}', {done}, 'it is over')")
    # A second host: one that was given up, with a new epoch, and a run in the narrow lane.
    sql("select fleet.join('id-build2', 'build2', '{}', 1, '0.1', 'boot-1')")
    sql("select fleet.leave('id-build2', 1)")
    sql("select fleet.drain('build1', true)")
    _offer(fleet, "queued", selector="nowhere")
    sql("select fleet.drain('build1', false)")
    _offer(fleet, "offered", lane="narrow")
    _offer(fleet, "behind", lane="narrow")
    states = dict(sql("select state, count(*) from fleet.runs group by state"))
    assert states == {"taken": 3, "ended": 3, "queued": 2, "offered": 1}


def _offer(
    fleet: Fleet, key: str, *, policy: str = "lost", lane: str = "default", selector: str = "*"
) -> None:
    fleet.sql(
        f"select fleet.offer('{HOME}', '{key}', 'task-1', '{selector}', '{lane}', 5, '{policy}',"
        """ '{"command": ["true"]}', false)"""
    )


def _take_all(fleet: Fleet) -> None:
    fleet.sql("select fleet.turn('id-build1', 1, '{}', '{}', '{}', true, '{}')")


def _number(key: str) -> str:
    return f"fleet.number_of('{HOME}', '{key}')"


def _content(fleet: Fleet) -> dict[str, list[dict[str, Any]]]:
    """Return every row of every table, the wire included."""
    tables = fleet.sql(
        "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname like 'fleet%'"
    )
    return {
        name: [row for (row,) in fleet.sql(f"select to_jsonb(t) from {name} t order by to_jsonb(t)::text")]
        for (name,) in tables
    }


async def test_an_upgrade_keeps_every_row(old: Fleet) -> None:
    before = _content(old)

    await old.fleet.open()

    after = _content(old)
    assert before.keys() <= after.keys()
    for name, rows in before.items():
        known = set(rows[0]) if rows else set[str]()
        kept = [{column: row[column] for column in row if column in known} for row in after[name]]
        if name == "fleet.clock":
            assert kept[0].pop("version") == schema.VERSION
            assert rows[0].pop("version") == 1
        assert sorted(map(json.dumps, kept)) == sorted(map(json.dumps, rows)), name


async def test_an_upgraded_fleet_is_the_same_as_a_new_one(old: Fleet, postgres: Server) -> None:
    await old.fleet.open()
    new = Fleet(PostgresFleet(postgres.url(name := postgres.create_database())), postgres, name)
    try:
        await new.fleet.open()
        for what, sql in _SHAPE.items():
            assert old.sql(sql) == new.sql(sql), what
    finally:
        await new.close()
        postgres.drop_database(name)


_SHAPE = {
    "columns": "select table_name, column_name, data_type, is_nullable from information_schema.columns"
    " where table_schema = 'fleet' order by 1, 2",
    "constraints": "select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint"
    " where connamespace = 'fleet'::regnamespace order by 1, 2",
    "indexes": "select indexdef from pg_indexes where schemaname = 'fleet' order by 1",
    "functions": "select pg_get_functiondef(oid) from pg_proc where pronamespace = 'fleet'::regnamespace"
    " order by 1",
}


async def test_work_goes_on_after_an_upgrade(old: Fleet) -> None:
    await old.fleet.open()

    host = Host(old.connect(), facts("build1", labels=("gpu",), slots=9), 1)
    orders = await host.renew()
    assert orders is not None
    assert [stop.number for stop in orders.stops] == [(await old.look("stopped")).number]
    held = {each.key: each.number for each in await host.fleet.held("id-build1", 1)}
    assert held.keys() == {"taken", "stopped", "again"}
    assert await host.finish(held["taken"])
    assert not await host.finish(held["stopped"], attempt=2), "a wrong attempt was accepted"
    assert await host.lose(held["again"])
    taken = await host.take_next(known=[held["stopped"]])
    assert {each.key for each in taken} == {"offered", "again"}
    for each in taken:
        assert await host.finish(each.number, each.attempt)
    behind = await host.take_next(known=[held["stopped"]])
    assert [each.key for each in behind] == ["behind"], "the narrow lane has room again"
    assert old.lanes_are_right()
    assert {each.key for each in await old.fleet.results(HOME)} == {
        "taken", "stopped", "again", "ended", "offered", "behind",
    }  # fmt: skip
    (piece,) = await old.fleet.output(held["taken"], attempt=1, start=0)
    assert piece.content == b"one"
    (request,) = await old.fleet.requests(HOME)
    assert (request.task, request.wish, request.token) == ("task-1", "cancel", "")
    await old.fleet.reply(HOME, request.number, Reply(refusal="", result="done"))
    assert await old.fleet.requests(HOME) == []


async def test_what_was_paused_before_an_upgrade_leaves_its_lane(fleet: Fleet) -> None:
    await fleet.fleet.set_lane("default", 1)
    host = await fleet.host()
    number = await fleet.fleet.offer(placed("a"))
    assert await host.take(number)
    await fleet.fleet.pause(HOME, "a", wanted=True)
    # As version 3 had it.
    fleet.sql("alter table fleet.pauses add wanted boolean; update fleet.pauses set wanted = true")
    fleet.sql("alter table fleet.runs drop paused, drop ahead cascade, drop returned")
    fleet.sql("alter table fleet.hosts drop has_left; alter table fleet.clock drop remembered")
    fleet.sql("update fleet.lanes set used = 1; update fleet.clock set version = 3")

    await fleet.connect().open()

    assert fleet.sql("select paused from fleet.runs") == [(True,)]
    assert fleet.lanes_are_right()
    assert await host.finish(number)
    assert fleet.lanes_are_right()


async def test_a_host_that_was_given_up_before_an_upgrade_is_refused_after_it(old: Fleet) -> None:
    await old.fleet.open()

    assert await old.connect().renew("id-build2", 1, free=1) is None


async def test_hosts_that_upgrade_at_once_upgrade_once(old: Fleet) -> None:
    await asyncio.gather(*(old.connect().open() for _ in range(5)))

    assert old.sql("select version from fleet.clock") == [(schema.VERSION,)]


async def test_a_role_of_hosts_may_call_what_is_new(old: Fleet, postgres: Server) -> None:
    postgres.execute("drop role if exists small")
    postgres.execute("create role small login")
    old.sql("select fleet.grant_host('small')")
    url = postgres.url(old.name, user="small")
    other = PostgresFleet(url)
    with pytest.raises(
        FleetError, match=rf"may not upgrade .* from version 1 to {schema.VERSION}; let the owner"
    ):
        await other.open()

    await old.fleet.open()

    await other.open()
    assert await other.letters(HOME) == []
    await other.close()
    with psycopg.connect(url, autocommit=True) as line, pytest.raises(psycopg.errors.InsufficientPrivilege):
        line.execute("select * from fleet.letters")


async def test_a_host_of_the_old_version_is_refused_after_an_upgrade(
    old: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    await old.fleet.open()
    newest = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", 1)

    refusal = rf"tables of version {newest}.*version 1; upgrade Errands on this host"
    with pytest.raises(FleetTooNew, match=refusal):
        await old.connect().open()


async def test_an_upgrade_that_fails_changes_nothing(old: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _content(old)
    monkeypatch.setitem(schema._UPGRADES, schema.VERSION, schema._UPGRADES[schema.VERSION] + "select 1 / 0;")

    with pytest.raises(psycopg.errors.DivisionByZero):
        await old.fleet.open()

    assert _content(old) == before
    number = old.sql(f"select {_number('taken')}")[0][0]
    assert old.sql(f"select fleet.finish({number}, 1, 'id-build1', 1, '{OUTCOME}')") == [("yes",)]
