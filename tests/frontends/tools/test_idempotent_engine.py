"""The idempotent engine: a repeated call finds what it launched instead of launching it again."""

from __future__ import annotations

import pytest

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


@pytest.mark.spec("L12")
async def test_a_restart_is_not_repeated_by_a_call_that_died_before_it_knew(engine: TestEngine) -> None:
    task = await engine.finished("false")
    await IdempotentEngine(engine, "call").restart(task.id)
    await engine.wait(task.id)

    repeated = await IdempotentEngine(engine, "call").restart(task.id)
    assert (repeated.runs, repeated.state) == (2, "failed")
    other = await IdempotentEngine(engine, "other call").restart(task.id)
    assert other.runs == 3


@pytest.mark.spec("S4")
async def test_a_follow_up_is_not_sent_twice_by_a_call_that_died_before_it_knew(engine: TestEngine) -> None:
    task = await engine.answered("`echo one`")
    await IdempotentEngine(engine, "call").resume(task.id, "`echo two`")
    await engine.wait(task.id)

    repeated = await IdempotentEngine(engine, "call").resume(task.id, "`echo two`")
    await IdempotentEngine(engine, "other call").resume(task.id, "`echo two`")
    ended = await engine.wait(task.id)

    assert repeated.agent is not None
    assert repeated.agent.resume_count == 1
    assert ended.agent is not None
    assert ended.agent.resume_count == 2


@pytest.mark.spec("L28")
async def test_a_repeated_call_does_not_edit_a_task_again(engine: TestEngine) -> None:
    task = await engine.submit("echo old", at="+1h")
    launched: list[str] = []
    edited = await IdempotentEngine(engine, "call", launched).edit(task.id, command="echo new")
    assert edited.command == "echo new"
    await engine.edit(task.id, command="echo newest")  # such as an answer in between, which must stay

    repeated = await IdempotentEngine(engine, "call", launched).edit(task.id, command="echo new")
    assert repeated.command == "echo newest"
    await engine.cancel(task.id)
