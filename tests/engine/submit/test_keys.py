"""Idempotency keys: a repeated launch returns the task of the first one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from errands.bootstrap import open_engine
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import TestEngine

RACE = """
import sys
from errands.bootstrap import open_engine
from errands.model.options.draft import Draft
engine = open_engine(consent="yes")
sys.stdin.readline()
print(*(engine.submit(Draft(command="true", key=f"key {number}")).id for number in range(40)))
"""


@pytest.mark.spec("L23")
async def test_a_repeated_launch_returns_the_first_task_whatever_its_state(engine: TestEngine) -> None:
    first = await engine.submit("echo once", key="deploy 42")
    second = await engine.submit("echo twice", key="deploy 42")
    await engine.wait(first.id)
    third = await engine.submit("echo thrice", key="deploy 42")

    assert first.id == second.id == third.id
    assert third.state == "completed"
    assert await engine.text(first.id) == "once\n"
    assert [view.id for view in await engine.list()] == [first.id]


@pytest.mark.spec("L23")
async def test_a_key_is_free_again_when_its_task_is_cleared(engine: TestEngine) -> None:
    first = await engine.finished("true", key="deploy 42")
    await engine.clear(first.id)
    assert (await engine.submit("true", key="deploy 42")).id != first.id


@pytest.mark.spec("L23")
def test_of_several_processes_that_use_a_key_at_once_exactly_one_creates_the_task(home: Home) -> None:
    open_engine(home).close()
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    answers = [racer.communicate()[0].split() for racer in racers]

    assert answers[0] == answers[1] == answers[2] == answers[3]
    engine = open_engine(home, consent="yes")
    assert len(engine.list(Query())) == len(set(answers[0])) == 40
    engine.close()


@pytest.mark.spec("L23")
async def test_a_key_in_a_call_with_several_drafts_returns_the_existing_task(engine: TestEngine) -> None:
    first = await engine.submit("true", key="one")
    tasks = await engine.submit_all(
        [Draft(command="true", name="a", key="one"), Draft(command="true", name="b", key="two")]
    )
    assert tasks[0].id == first.id
    assert len(await engine.list()) == 2
