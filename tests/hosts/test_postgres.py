"""The server of the tests themselves: what other tests rely on."""

from __future__ import annotations

import os

import pytest

from tests.postgres import DURABLE, Server, running


def test_databases_are_apart(postgres: Server) -> None:
    one, two = postgres.create_database(), postgres.create_database()
    postgres.execute("create table t (x int)", database=one)

    assert postgres.execute("select to_regclass('t')::text", database=one) == [("t",)]
    assert postgres.execute("select to_regclass('t')::text", database=two) == [(None,)]


def test_a_restart_keeps_what_is_stored_and_promotion_changes_the_timeline() -> None:
    with running(settings=DURABLE) as server:
        server.execute("create table t as select 1 as x")
        server.restart("crash")
        assert server.execute("select x from t") == [(1,)]
        before = server.execute("select timeline_id from pg_control_checkpoint()")

        server.fork_history()
        server.execute("checkpoint")

        assert server.execute("select x from t") == [(1,)]
        assert server.execute("select timeline_id from pg_control_checkpoint()") > before


def test_nothing_is_left_behind() -> None:
    with running(host="127.0.0.1") as server:
        assert "127.0.0.1" in server.url("postgres")
        process = int((server.data / "postmaster.pid").read_text().split()[0])

    assert not server.folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
