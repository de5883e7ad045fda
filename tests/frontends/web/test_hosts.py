"""The hosts of the fleet over the API: asked for only by those who look, and never in anybody's way."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from errands.hosts.fleet import PostgresFleet
from tests.frontends.web.server import WITHIN, WebServer
from tests.frontends.web.test_table import matches
from tests.hosts.fleets import Fleet
from tests.postgres import Server

pytestmark = pytest.mark.spec("X12")
T = TypeVar("T")


@pytest.fixture
def web(database: str, make_web: Callable[..., WebServer]) -> WebServer:
    """A server that is closed before the database of its fleet is dropped."""
    server = make_web()
    assert server.sign_in().status == 201
    return server


async def until(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until there is an answer, however busy the machine is."""
    limit = time.monotonic() + WITHIN
    while not (found := await ask()):
        assert time.monotonic() < limit, "waited in vain"
        await asyncio.sleep(0.05)
    return found


def has_loaded(server: WebServer, library: str) -> bool:
    return library in Path(f"/proc/{server.process.pid}/maps").read_text()


async def test_hosts_and_what_they_run_are_listed_and_without_a_fleet_nothing_is_loaded(
    web: WebServer, postgres: Server, database: str
) -> None:
    assert web.get("/api/hosts").json == {"member": False, "hosts": []}
    assert web.get("/api/overview").json["in_fleet"] is False

    made = PostgresFleet(database)
    await made.open()
    fleet = Fleet(made, postgres, database.partition("@/")[2].partition("?")[0])
    fleet.tune(lease=3600)  # nobody is given up, however slow the machine is
    web.errands("host", "join", database, "--name", "laptop", "--slots", "0")
    big = await fleet.host("big", labels=("gpu", "linux"))
    assert web.get("/api/overview").json["in_fleet"] is True
    assert not has_loaded(web, "psycopg")  # nobody has asked yet
    reply = web.get("/api/hosts")
    assert reply.status == 200, reply.body
    matches("Hosts", reply.json)
    found = {each["name"]: each for each in reply.json["hosts"]}["big"]
    assert found.pop("seen_at")
    known = {"name": "big", "state": "up", "slots": 4, "running": 0, "version": "1.0", "own": False}
    assert found == {**known, "labels": ["gpu", "linux"]}
    assert has_loaded(web, "psycopg")

    printed = web.errands("run", "--yes", "--json", "--host", "gpu", "--", "true")
    task = json.loads(printed.splitlines()[-1])["id"]

    async def row(state: str, more: str = "") -> bool:
        [light] = web.get("/api/light-tasks", ids=task).json["rows"]
        return light["state"] == state and more in light["more"]

    await until(lambda: row("pending", "waiting for a"))
    [taken] = await until(big.take_next)
    await until(lambda: row("running", "on big"))
    shown: Any = web.get(f"/api/tasks/{task}").json
    assert shown["row"]["said"]["more"] == "on big"
    assert {"name": "host", "value": "big (for gpu)"} in shown["facts"]
    assert await big.lose(taken.number, taken.attempt)
    await until(lambda: row("failed", "lost"))
    await fleet.close()


async def test_a_fleet_that_cannot_be_asked_is_a_reason_and_everything_else_goes_on(
    web: WebServer, database: str
) -> None:
    web.errands("host", "join", database, "--name", "laptop", "--slots", "0")
    known = json.loads((web.home / "fleet.json").read_text())
    (web.home / "fleet.json").write_text(json.dumps({**known, "url": "env:NO_SUCH_FLEET"}))
    reply = web.get("/api/hosts")
    assert (reply.status, reply.json["kind"]) == (503, "BadValue")
    assert "'NO_SUCH_FLEET', which is not set; set it" in reply.detail
    assert web.get("/api/overview").json["in_fleet"] is True
