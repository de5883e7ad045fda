"""A paused schedule does not run; an unpaused one goes on from now, and catches up with nothing."""

from __future__ import annotations

import pytest

from errands.ports.home import Home
from errands.testing.engines import embedded
from tests.engine.triggers.test_schedules import MINUTE, TICK, clock, outcomes, ran
from tests.hand_clock import HandClock

__all__ = ["clock"]


@pytest.mark.spec("T2")
async def test_an_unpaused_task_continues_from_now_without_catching_up(home: Home, clock: HandClock) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit("true", every=10 * MINUTE)
        paused = await engine.pause(task.id)
        assert (paused.state, paused.standing and paused.standing.next_at) == ("paused", None)
        clock.turn(25 * MINUTE)
        await engine.finished("true")
        assert (await engine.get(task.id)).runs == 0

        again = await engine.unpause(task.id)
        assert again.standing is not None
        assert again.standing.next_at == clock.now() + 10 * MINUTE
        clock.turn(9 * MINUTE)
        await engine.finished("true")
        assert (await engine.get(task.id)).runs == 0
        clock.turn(MINUTE)
        first = await ran(engine, task.id, 1)
        assert outcomes(engine, task.id) == [("ran", 1)]
        assert first.standing is not None
        assert first.standing.next_at == clock.now() + 10 * MINUTE


@pytest.mark.spec("T2")
async def test_an_unpaused_cron_line_runs_at_its_next_time_and_not_for_those_it_missed(
    home: Home, clock: HandClock
) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit("true", cron="*/10 * * * *", zone="UTC")
        await engine.pause(task.id)
        clock.turn(25 * MINUTE)

        again = await engine.unpause(task.id)

        assert again.standing is not None
        assert again.standing.next_at == clock.now() + 5 * MINUTE
        await engine.finished("true")
        assert (await engine.get(task.id)).runs == 0
        clock.turn(5 * MINUTE)
        await ran(engine, task.id, 1)
        assert outcomes(engine, task.id) == [("ran", 1)]
