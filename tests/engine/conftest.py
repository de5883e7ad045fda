"""What engine tests share: a project, a caller without consent, and something harmful to run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.ports.home import Home
from tests.engine.agent_project import Project


@pytest.fixture
def project(tmp_path: Path, own_home: Path) -> Project:
    return Project(tmp_path / "project", Path(f"{own_home}-config"))


@pytest.fixture
def asking(home: Home) -> Iterator[Engine]:
    """The engine of a caller that consents to nothing."""
    engine = open_engine(home)
    yield engine
    engine.close()


@pytest.fixture
def harm(tmp_path: Path) -> Draft:
    """A command that cannot be undone, on a file of the test."""
    victim = tmp_path / "victim"
    victim.touch()
    return Draft(command=("rm", str(victim)))
