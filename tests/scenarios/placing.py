"""The mode `--placed`: the scenarios once more, with every run carried out by another home.

Each home of a test joins a fleet. Beside it stands a host of its own: another home with a daemon and a host
process, and with the same configuration, because agents and rules are those of the host.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from errands.api import connect
from errands.bootstrap import open_engine, open_fleet
from errands.engine.async_engine import AsyncEngine
from errands.engine.engine import Engine
from errands.engine.fleet.placed_run import LANE
from errands.model.agent.session import remote_place
from errands.ports.fleet import membership
from errands.ports.fleet.membership import Membership
from errands.ports.home import Home, make_home
from errands.testing.engines import TestEngine
from tests.frontends.cli.person import Person
from tests.postgres import Server

SLOTS = 32
GONE_THERE = (
    "its host no longer has the session (Session expired or was deleted. Start a new background_task to "
    "continue.); start a new prompt"
)
HOST = "ERRANDS_RUNS_HOST"  # the variable of the setting that places what names no host
_PATIENCE = 60.0
_numbers = itertools.count(1)


class Placing:
    """A fleet, and a host for every home that joins it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._database = server.create_database()
        self._url = server.url(self._database)
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._hosts: dict[str, Engine] = {}
        asyncio.run(_create_tables(self._url))

    def place(self, home: str, config: str | None = None) -> str:
        """Let a home join, before it is opened, and start a host for it; return the name of the host.

        `config` is the folder of the configuration of both, if it is not that of this process.
        """
        number = next(_numbers)
        host = Home(path=f"{home}-host")
        self._join(Home(path=home), f"home-{number}", slots=0)
        self._join(host, f"host-{number}", slots=SLOTS)
        engine = open_engine(host)
        engine.queue.set_lane(LANE, SLOTS)
        engine.close()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ERRANDS_")}
        if config is not None:
            kept["XDG_CONFIG_HOME"] = config
        self._daemons[home] = subprocess.Popen(
            [sys.executable, "-m", "errands", "daemon", "run"],
            env={**kept, "ERRANDS_HOME": host.path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        return f"host-{number}"

    async def is_up(self, *names: str) -> None:
        """Wait until these members of the fleet have joined it."""
        limit = time.monotonic() + _PATIENCE
        up = "select name from fleet.hosts where state = 'up'"
        while not {*names} <= {name for (name,) in self._server.execute(up, database=self._database)}:
            assert time.monotonic() < limit, f"{names} did not join the fleet"
            await asyncio.sleep(0.1)

    def host_of(self, home: Home) -> Engine:
        """Return the engine of the host that carries out the runs of a home."""
        if home.path not in self._hosts:
            self._hosts[home.path] = open_engine(Home(path=f"{home.path}-host"))
        return self._hosts[home.path]

    def end(self, home: str) -> None:
        if home in self._hosts:
            self._hosts.pop(home).close()
        daemon = self._daemons.pop(home)
        daemon.terminate()
        daemon.wait(_PATIENCE)

    def close(self) -> None:
        for home in list(self._daemons):
            self.end(home)

    def _join(self, home: Home, name: str, *, slots: int) -> None:
        make_home(home.path)
        me = Membership(id=os.urandom(8).hex(), url=self._url, name=name, labels=(), slots=slots)
        membership.write(home.fleet, me)


async def _create_tables(url: str) -> None:
    fleet = open_fleet(url)
    await fleet.open()
    await fleet.close()


def own_place(engine: TestEngine, task_id: str, placed: Placing | None) -> tuple[Engine, str]:
    """Return the engine that carries out a prompt, and the task there: what only that one stores."""
    if placed is None:
        return engine.engine, task_id
    session = engine.engine.store.session(task_id)
    assert session is not None
    place = remote_place(session.name)
    assert place is not None
    return placed.host_of(engine.engine.home), place[1]


@contextmanager
def placing(server: Server) -> Iterator[Placing]:
    """Place every run of the engines that tests embed, and what a person types, until this is left."""
    fleet = Placing(server)

    @asynccontextmanager
    async def placed_connect(home: str, **options: Any) -> AsyncIterator[AsyncEngine]:
        host = fleet.place(home)
        try:
            async with connect(home, **{"runs.host": host, **options}) as engine:
                await fleet.is_up(host, host.replace("host", "home"))
                yield engine
        finally:
            fleet.end(home)

    begin, leave = Person.__init__, Person.leaves

    def begin_placed(person: Person, home: Path, cwd: Path) -> None:
        begin(person, home, cwd)
        person.environ[HOST] = fleet.place(str(home), person.environ["XDG_CONFIG_HOME"])

    def leave_placed(person: Person) -> None:
        leave(person)
        fleet.end(str(person.home))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("errands.testing.engines.connect", placed_connect)
        patch.setattr(Person, "__init__", begin_placed)
        patch.setattr(Person, "leaves", leave_placed)
        try:
            yield fleet
        finally:
            fleet.close()
