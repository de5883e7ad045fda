"""Scenarios are told to an engine that is embedded in the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from errands.testing.engines import TestEngine, embedded
from tests.engine.agents import Project


@pytest.fixture
async def engine(own_home: Path) -> AsyncIterator[TestEngine]:
    async with embedded(str(own_home)) as engine:
        yield engine


@pytest.fixture
def project(tmp_path: Path, own_home: Path) -> Project:
    return Project(tmp_path / "project", Path(f"{own_home}-config"))
