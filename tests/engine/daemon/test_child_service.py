"""Child services: started for work, restarted after a failure, ended with the daemon."""

from __future__ import annotations

import asyncio
import os
import socket
import time

import pytest

from errands.engine.daemon import child_service
from errands.engine.daemon.child_service import ChildService
from errands.testing.engines import until


class Starts:
    """Start a shell line as a child, and record when."""

    def __init__(self, line: str) -> None:
        self._line = line
        self.pids: list[int] = []
        self.times: list[float] = []

    def __call__(self, line: socket.socket) -> int:
        pid = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", self._line],
            dict(os.environ),
            file_actions=[(os.POSIX_SPAWN_DUP2, line.fileno(), 0)],
        )
        self.pids.append(pid)
        self.times.append(time.monotonic())
        return pid


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_no_child_is_started_without_work() -> None:
    start = Starts("read line")
    work: list[float | None] = [None]
    service = ChildService("child", start, lambda: work[0])
    service.open()
    service.ring()
    await asyncio.sleep(0.1)
    assert start.pids == []

    work[0] = 0.0
    service.ring()
    await until(lambda: len(start.pids) == 1)
    service.close()


async def test_a_running_child_is_notified_instead_of_started_again() -> None:
    start = Starts("read line; exit 0")
    work: list[float | None] = [0.0]
    service = ChildService("child", start, lambda: work[0])
    service.open()
    await until(lambda: len(start.pids) == 1)
    work[0] = None
    service.ring()

    await until(lambda: not is_alive(start.pids[0]))
    assert len(start.pids) == 1
    service.close()


async def test_a_failing_child_is_restarted_with_growing_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_service, "SHORTEST_PAUSE", 0.1)
    start = Starts("exit 3")
    service = ChildService("child", start, lambda: 0.0)
    service.open()
    async with asyncio.timeout(60):
        while len(start.pids) < 4:
            service.ring()  # a ring does not shorten the pause
            await asyncio.sleep(0.01)
    service.close()

    pauses = [later - earlier for earlier, later in zip(start.times, start.times[1:], strict=False)]
    assert [pause >= least for pause, least in zip(pauses, (0.1, 0.2, 0.4), strict=True)] == [True] * 3


async def test_a_permanent_child_is_restarted_whatever_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(child_service, "SHORTEST_PAUSE", 0.1)
    start = Starts("exit 0")
    service = ChildService("child", start)
    service.open()
    await until(lambda: len(start.pids) == 2)
    service.close()

    assert start.times[1] - start.times[0] >= 0.1


async def test_a_long_lived_child_resets_the_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_service, "SHORTEST_PAUSE", 0.1)
    monkeypatch.setattr(child_service, "PROVEN", 0.0)
    start = Starts("exit 3")
    service = ChildService("child", start, lambda: 0.0)
    service.open()
    await until(lambda: len(start.pids) == 6)  # with doubling pauses it would take three seconds
    service.close()

    assert service._failures == 1


async def test_a_child_that_must_not_be_missing_is_restarted_soon_however_often_it_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(child_service, "SHORTEST_PAUSE", 0.01)
    start = Starts("exit 3")
    service = ChildService("child", start, longest_pause=0.01)
    service.open()
    await until(lambda: len(start.pids) == 16)  # with doubling pauses it would take more than a minute
    service.close()


async def test_a_child_ends_with_its_service() -> None:
    start = Starts("read line; exit 0")
    service = ChildService("child", start)
    service.open()
    await until(lambda: len(start.pids) == 1)
    service.close()

    await until(lambda: not is_alive(start.pids[0]))
    await asyncio.sleep(0.1)
    assert len(start.pids) == 1
