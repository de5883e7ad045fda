"""A stage of real processes for every test, and a bystander that must not be touched."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from errands.ports.runner import Launch
from tests.runners.owner import Owner
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


@pytest.fixture
def pause(tmp_path: Path) -> Path:
    """A pipe that a command waits for with `read x < pause`."""
    path = tmp_path / "pause"
    os.mkfifo(path)
    return path


@pytest.fixture
def start_owner(stage: Stage) -> Iterator[Callable[..., Owner]]:
    """Start owners of pools, and leave none behind."""
    owners: list[Owner] = []

    def start(*launches: Launch) -> Owner:
        owners.append(Owner(stage.runs, *launches))
        return owners[-1]

    yield start
    for owner in owners:
        if owner.process.poll() is None:
            owner.kill()
