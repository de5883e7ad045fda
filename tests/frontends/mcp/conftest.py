"""An engine without consent, in a project with a file that must not be lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from errands.testing.engines import TestEngine, embedded


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "precious").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
async def engine(own_home: Path, project: Path) -> AsyncIterator[TestEngine]:
    async with embedded(str(own_home), yes=False) as engine:
        yield engine
