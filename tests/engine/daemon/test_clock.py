"""Clock jumps: due tasks start exactly once, and durations are not affected."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from errands import bootstrap
from errands.ports.home import Home
from errands.testing.engines import WITHIN, embedded, until
from tests.engine.daemons import lines
from tests.hand_clock import HandClock

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    clock = HandClock(datetime.now(UTC))
    monkeypatch.setattr(bootstrap, "SystemClock", lambda: clock)
    return clock


@pytest.mark.spec("L18")
@pytest.mark.fault("F22")
@pytest.mark.parametrize("jump", [HOUR, DAY])
async def test_tasks_due_after_a_jump_start_once_even_without_a_ring(
    home: Home, clock: HandClock, tmp_path: Path, jump: timedelta
) -> None:
    witness = tmp_path / "witness"
    async with embedded(home.path, **{"daemon.tick": "20ms"}) as engine:
        tasks = [
            await engine.submit(f"echo start >> {witness}", at=clock.now() + timedelta(minutes=20 * number))
            for number in (1, 2, 3)
        ]
        assert [task.state for task in tasks] == ["pending"] * 3
        clock.turn(jump)
        await engine.wait_all([task.id for task in tasks])
        for back_and_forth in (-DAY, DAY + HOUR):
            clock.turn(back_and_forth)
            await engine.finished("true")

        assert lines(witness) == ["start"] * 3


@pytest.mark.spec("L18")
@pytest.mark.fault("F22")
async def test_setting_the_clock_back_delays_only_tasks_with_a_start_time(
    home: Home, clock: HandClock
) -> None:
    async with embedded(home.path, **{"daemon.tick": "20ms"}) as engine:
        delayed = await engine.submit("true", at=clock.now() + HOUR)
        clock.turn(-DAY)
        assert (await engine.finished("true")).state == "completed"
        assert (await engine.get(delayed.id)).state == "pending"
        clock.turn(DAY + HOUR)
        assert (await engine.wait(delayed.id)).state == "completed"


@pytest.mark.spec("L27")
@pytest.mark.fault("F22")
async def test_a_retry_does_not_wait_longer_when_the_clock_is_set_back(
    home: Home, clock: HandClock, tmp_path: Path
) -> None:
    witness = tmp_path / "witness"
    async with embedded(home.path, **{"daemon.tick": "20ms", "schedules.backoff": "1m"}) as engine:
        task = await engine.submit(f"echo x >> {witness}; test $(wc -l < {witness}) = 2", retries=1)
        await until(lambda: engine.engine.get(task.id).latest.number == 2)
        clock.turn(-HOUR)
        await until(lambda: engine.engine.get(task.id).latest.created_at == clock.now())
        assert (await engine.get(task.id)).state == "pending"
        clock.turn(timedelta(minutes=1))

        assert (await engine.wait(task.id, timeout=WITHIN)).state == "completed"


@pytest.mark.fault("F22")
@pytest.mark.trap(50)
async def test_a_jump_does_not_count_as_duration_and_ends_no_run(home: Home, clock: HandClock) -> None:
    async with embedded(home.path, **{"daemon.tick": "20ms"}) as engine:
        task = await engine.started("echo ready; read line", input="pipe", timeout=600, idle=600)
        clock.turn(DAY)
        await engine.finished("true")
        await engine.send(task.id, b"\n")
        ended = await engine.wait(task.id)

        assert ended.state == "completed"
        assert ended.latest.elapsed is not None
        assert ended.latest.elapsed < 60


@pytest.mark.fault("F22")
async def test_notices_are_delivered_whatever_the_clock_does(home: Home, clock: HandClock) -> None:
    async with embedded(home.path) as engine:
        await engine.finished("true")
        clock.turn(-DAY)
        await engine.finished("true")
        clock.turn(DAY)
        assert len(await engine.take_notices()) == 2
