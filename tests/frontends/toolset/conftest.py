"""An engine whose program consents to nothing, like an agent's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from errands.testing.engines import TestEngine, embedded


@pytest.fixture
async def engine(own_home: Path) -> AsyncIterator[TestEngine]:
    async with embedded(str(own_home), yes=False) as engine:
        yield engine


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file that must not be lost."""
    place = tmp_path / "victim"
    place.touch()
    return place
