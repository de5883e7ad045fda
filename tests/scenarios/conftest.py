"""Scenarios run on an engine that is embedded in the test, or on a dialect of it."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from errands.model.states import OPEN
from errands.ports.home import Home
from errands.testing.engines import embedded
from errands.testing.speaker import Speaker, Stage
from tests.engine.agent_project import CAT, Codex, Project
from tests.engine.daemons import Daemons
from tests.postgres import Server
from tests.scenarios.carriers import WAYS
from tests.scenarios.fleet_homes import FleetHome, TestFleet
from tests.scenarios.placing import HOST, Placing, placing

_sessions = itertools.count(1)


@pytest.fixture(scope="session", autouse=True)
def placed(request: pytest.FixtureRequest) -> Iterator[Placing | None]:
    """With `--placed` every run of a scenario is carried out by another home."""
    if not request.config.getoption("placed"):
        yield None
        return
    with placing(request.getfixturevalue("postgres")) as fleet:
        yield fleet


@pytest.fixture(scope="session")
def agent_kind(placed: Placing | None) -> str:
    """What lists call a prompt: also where it runs, if that is another host."""
    return "agent" if placed is None else "remote"


@pytest.fixture
def daemons(home: Home, placed: Placing | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemons]:
    """The daemons of a home, and with `--placed` the host that carries out its runs."""
    if placed is not None:
        monkeypatch.setenv(HOST, placed.place(home.path))
    daemons = Daemons(home)
    yield daemons
    daemons.end()
    if placed is not None:
        placed.end(home.path)


@pytest.fixture
def project(tmp_path: Path, own_home: Path) -> Project:
    return Project(tmp_path / "project", Path(f"{own_home}-config"))


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=list(WAYS))
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """One engine and one way to it for all scenarios of a module; nothing is approved in advance."""
    folder = tmp_path_factory.mktemp("stage")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        _configure(folder / "config", Codex(folder))
        patch.chdir(folder)
        async with embedded(str(folder / "home"), yes=False) as engine, WAYS[request.param](engine) as way:
            yield Stage(engine, way, folder)


@pytest_asyncio.fixture(loop_scope="module")
async def session(stage: Stage, own_home: Path) -> AsyncIterator[str]:
    """A session of its own for every test, which sees its own tasks alone; what it leaves is cancelled."""
    _configure(Path(f"{own_home}-config"), Codex(stage.folder))
    session = f"chat-{next(_sessions)}"
    yield session
    left = await stage.engine.list(states=OPEN, parent=session)
    await stage.engine.cancel(*(view.id for view in left))


@pytest_asyncio.fixture(loop_scope="module")
async def native(stage: Stage, session: str) -> Speaker:
    """A caller of our own dialect."""
    return await stage.speaker("native", session)


@pytest_asyncio.fixture(loop_scope="module")
async def codex(stage: Stage) -> Codex:
    """The agent `codex` of a stage."""
    return Codex(stage.folder)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, postgres: Server) -> Iterator[TestFleet]:
    """A fleet for all scenarios of a module."""
    fleet = TestFleet(tmp_path_factory.mktemp("fleet"), postgres)
    yield fleet
    fleet.close()


@pytest.fixture(scope="module")
def laptop(fleet: TestFleet) -> FleetHome:
    """The home that has the tasks; it takes none."""
    return fleet.add("laptop", "--slots", "0")


@pytest.fixture(scope="module")
def big(fleet: TestFleet, laptop: FleetHome) -> FleetHome:
    """The host that runs them."""
    return fleet.add("big", "--label", "gpu")


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A pipe that a command waits for with `read x < gate`."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def _configure(folder: Path, codex: Codex) -> None:
    (folder / "errands").mkdir(parents=True)
    (folder / "errands" / "config.toml").write_text(CAT + codex.config)
