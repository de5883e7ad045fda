"""A notice of an end carries the result of its run, bounded, without secrets."""

from __future__ import annotations

import pytest

from errands.engine.notices.run_result import shown
from errands.model.notices.delivery import delivery_of, message, text
from errands.testing.engines import TestEngine

OWNER = "agent"


def told(engine: TestEngine, budget: int = 4000) -> str:
    return text(shown(engine.engine, delivery_of(engine.engine.store.inbox(OWNER))), budget)


@pytest.mark.spec("N6", "N10")
async def test_a_notice_quotes_what_a_command_printed(engine: TestEngine) -> None:
    await engine.finished("echo 3 failed; echo and why; exit 3", owner=OWNER)

    assert "\n> 3 failed\n> and why\n" in told(engine)


@pytest.mark.spec("N6", "N10")
async def test_a_notice_quotes_an_agents_answer(engine: TestEngine) -> None:
    task = await engine.ask("`echo it'' works`", agent="offline", owner=OWNER)
    await engine.wait(task.id)

    assert "\n> it works\n" in told(engine)


@pytest.mark.spec("N10", "R6")
async def test_a_notice_says_once_why_an_agent_failed(engine: TestEngine) -> None:
    task = await engine.ask("what is new?", agent="offline", owner=OWNER)
    await engine.wait(task.id)

    assert told(engine).count("no model is set up") == 1


@pytest.mark.spec("N6", "S7")
async def test_a_notice_of_a_resume_quotes_its_own_prompt(engine: TestEngine) -> None:
    task = await engine.ask("`echo it'' works`", agent="offline", owner=OWNER)
    await engine.wait(task.id)
    await engine.resume(task.id, "`echo still'' works`")
    await engine.wait(task.id)
    *_, last = engine.engine.store.inbox(OWNER)

    said = text(shown(engine.engine, delivery_of([last])), 4000)

    assert "prompt: `echo still'' works`\n" in said
    assert "\n> still works\n" in said


@pytest.mark.spec("N10")
async def test_a_long_output_is_bounded_and_says_where_the_rest_is(engine: TestEngine) -> None:
    task = await engine.finished("echo the first; seq 1 100000; echo the last", owner=OWNER)

    said = told(engine)

    assert len(said.encode()) <= 4000
    assert "\n> the first\n> 1\n" in said
    assert f"\n> [... the whole output: errands logs {task.id} ...]\n" in said
    assert "\n> 100000\n> the last\n" in said


@pytest.mark.spec("N10")
async def test_a_notice_is_about_its_own_run_and_not_the_latest(engine: TestEngine) -> None:
    task = await engine.finished("echo run $ERRANDS_RUN_ID; exit 1", owner=OWNER)
    await engine.restart(task.id)
    await engine.wait(task.id)
    first, second = engine.engine.store.inbox(OWNER)

    assert f"> run {first.run_id}\n" in text(shown(engine.engine, delivery_of([first])), 4000)
    assert f"> run {second.run_id}\n" in text(shown(engine.engine, delivery_of([second])), 4000)


@pytest.mark.spec("O12", "N10")
async def test_secrets_in_a_result_are_masked(engine: TestEngine) -> None:
    await engine.finished("echo the key is $API_KEY", env={"API_KEY": "hunter2hunter2"}, owner=OWNER)

    assert "the key is" in told(engine)
    assert "hunter2" not in told(engine)


@pytest.mark.spec("N9", "N10")
async def test_a_digest_has_a_line_for_each_result(engine: TestEngine) -> None:
    for _ in range(5):
        await engine.finished("echo hello", owner=OWNER)

    delivery = shown(engine.engine, delivery_of(engine.engine.store.inbox(OWNER)))

    assert message(delivery, "", 4000).count("completed in") == 5
