"""The idempotent engine: a repeated call finds what it launched instead of launching it again."""

from __future__ import annotations

from errands.frontends.tools.idempotent_engine import IdempotentEngine
from errands.testing.engines import TestEngine


async def test_a_repeated_call_finds_what_it_launched_by_its_key(engine: TestEngine) -> None:
    first = await IdempotentEngine(engine, "call").submit("true")
    repeated = await IdempotentEngine(engine, "call").submit("true")
    other = await IdempotentEngine(engine, "other call").submit("true")

    assert repeated.id == first.id
    assert other.id != first.id


async def test_two_launches_of_one_call_are_two_tasks(engine: TestEngine) -> None:
    call = IdempotentEngine(engine, "call")

    first, second = await call.submit("true"), await call.submit("true")

    assert first.id != second.id


async def test_a_repeated_call_does_not_restart_a_task_that_it_restarted(engine: TestEngine) -> None:
    task = await engine.finished("true")
    launched: list[str] = []
    restarted = await IdempotentEngine(engine, "call", launched).restart(task.id)
    await engine.wait(task.id)

    repeated = await IdempotentEngine(engine, "call", launched).restart(task.id)

    assert launched == [task.id]
    assert repeated.latest.id == restarted.latest.id
