"""A stage of real processes for every test, and a bystander that must not be touched."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.runners.stage import Stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path)
    await stage.pool.open()
    yield stage
    await stage.clear()
    await stage.pool.close()


@pytest.fixture
def bystander() -> Iterator[int]:
    """A process that does not belong to any run."""
    pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {}, setsid=True)
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
