"""An engine that starts harmless commands and agents at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from errands.testing.engines import TestEngine, embedded


@pytest.fixture
async def engine(own_home: Path) -> AsyncIterator[TestEngine]:
    async with embedded(str(own_home)) as engine:
        yield engine
