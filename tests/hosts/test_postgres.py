"""The server of the tests themselves: what other tests rely on."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time

import pytest

from tests.postgres import DURABLE, LIMIT, Server, running

pytestmark = pytest.mark.postgres


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


def test_connections_that_say_nothing_do_not_keep_a_server_from_stopping_for_long() -> None:
    """As those of a host that stands still, or whose link is cut, at the wrong moment."""
    with running(host="127.0.0.1") as server, contextlib.ExitStack() as silent:
        is_over = threading.Event()

        def connect() -> None:
            while not is_over.wait(0.002):
                with contextlib.suppress(OSError):
                    silent.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=1))

        connecting = threading.Thread(target=connect)
        connecting.start()
        before = time.monotonic()
        try:
            server.stop()
        finally:
            is_over.set()
            connecting.join()
        assert time.monotonic() - before < LIMIT / 2
        server.start()


def test_nothing_is_left_behind() -> None:
    with running(host="127.0.0.1") as server:
        assert "127.0.0.1" in server.url("postgres")
        process = int((server.data / "postmaster.pid").read_text().split()[0])

    assert not server.folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_failover_loses_what_came_after_the_copy_and_takes_a_moment() -> None:
    with running(settings=DURABLE) as server:
        server.execute("create table t as select 1 as x")
        before = server.execute("select timeline_id from pg_control_checkpoint()")
        server.back_up()
        server.execute("insert into t values (2)")

        away = server.fail_over()

        assert server.execute("select x from t") == [(1,)]
        assert server.execute("select timeline_id from pg_control_checkpoint()") > before
        assert 0 < away < LIMIT
        server.back_up()  # once more
        server.fail_over()
