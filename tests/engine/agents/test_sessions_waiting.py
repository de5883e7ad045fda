"""Waiting agents: for approval, for their turn or for a task, without using up their slot or their time."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import errands
from errands.engine.agents.agent_context import RunContext
from errands.engine.agents.model_gate import ModelGate
from errands.engine.engine import Engine
from errands.model.view import View, as_json
from errands.ports.agent import Activity, Decision, ToolCall
from errands.ports.home import Home
from errands.ports.store import Query
from errands.stores.sqlite import connection
from errands.testing.engines import WITHIN, TestEngine, embedded, until
from tests.engine.agent_project import Project, unhurried


@pytest.fixture
async def narrow(home: Home, project: Project) -> AsyncIterator[TestEngine]:
    """An engine with room for one agent."""
    async with embedded(home.path, **{"lanes.agent": "1"}) as engine:
        yield engine


def proposed(engine: TestEngine) -> list[View]:
    return engine.engine.list(Query(states=("proposed",)))


def waiting(engine: TestEngine, task_id: str) -> str | None:
    agent = engine.engine.store.view(task_id).agent
    return None if agent is None else agent.waiting


@pytest.mark.spec("A8", "A11")
async def test_a_command_that_needs_approval_waits_for_the_answer(
    engine: TestEngine, project: Project
) -> None:
    task = await engine.ask("`touch ../x`", cwd=project.path)
    (child,) = await until(lambda: proposed(engine))
    await until(lambda: waiting(engine, task.id) == "approval")
    assert child.parent == f"task:{task.id}"
    assert not Path(project.path, "..", "x").exists()

    engine.engine.approve(child.id, by="ada", door="cli")

    assert (await engine.wait(task.id, timeout=WITHIN)).state == "completed"
    assert Path(project.path, "..", "x").exists()


@pytest.mark.spec("L5", "L10")
async def test_an_agent_waits_until_the_last_of_several_answers(
    engine: TestEngine, project: Project, asking: Engine
) -> None:
    context = await idle_context(engine, project, asking)
    task_id = context.run.rpartition(".")[0]
    await context.take_over()
    slow = asyncio.create_task(context.run_command("c1", "touch ../x"))
    (child,) = await until(lambda: proposed(engine))
    quick = asyncio.create_task(context.run_command("c2", "touch ../y"))
    other = await until(lambda: [each for each in proposed(engine) if each.id != child.id])
    await until(lambda: waiting(engine, task_id) == "approval")

    engine.engine.reject(other[0].id, by="ada", door="cli")
    assert (await asyncio.wait_for(quick, WITHIN)).state == "rejected"
    assert waiting(engine, task_id) == "approval"

    engine.engine.reject(child.id, by="ada", door="cli")
    assert (await asyncio.wait_for(slow, WITHIN)).state == "rejected"
    assert waiting(engine, task_id) is None


async def test_an_agent_that_gives_up_waiting_gets_its_slot_back(
    engine: TestEngine, project: Project
) -> None:
    context = await idle_context(engine, project)
    task_id = context.run.rpartition(".")[0]
    await context.take_over()
    asking = asyncio.create_task(context.request_approval(CALL))
    await until(lambda: waiting(engine, task_id) == "approval")
    asking.cancel()
    await asyncio.wait([asking])
    await until(lambda: waiting(engine, task_id) is None)


async def test_an_agent_that_waits_for_approval_does_not_poll_the_store(
    engine: TestEngine, project: Project, asking: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = await idle_context(engine, project, asking)
    task_id = context.run.rpartition(".")[0]
    await context.take_over()
    running = asyncio.create_task(context.run_command("c1", "touch ../x"))
    await until(lambda: waiting(engine, task_id) == "approval")
    queries: list[Query] = []
    views = asking.store.views

    def counted(query: Query) -> list[View]:
        queries.append(query)
        return views(query)

    monkeypatch.setattr(asking.store, "views", counted)
    await asyncio.sleep(1.3)
    assert len(queries) <= 2  # when it begins to wait
    (child,) = proposed(engine)
    engine.engine.reject(child.id, by="ada", door="cli")
    assert (await asyncio.wait_for(running, WITHIN)).state == "rejected"


@pytest.mark.spec("A8")
async def test_the_agent_learns_that_its_command_was_rejected(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`touch ../x` and `echo on`", cwd=project.path)
    (child,) = await until(lambda: proposed(engine))
    engine.engine.reject(child.id, by="ada", door="cli", note="not on a Friday")
    done = await engine.wait(task.id, timeout=WITHIN)
    assert done.agent is not None
    assert "not on a Friday" in (done.agent.answer or "")
    assert "\non\n" in (done.agent.answer or "")
    assert not Path(project.path, "..", "x").exists()


@pytest.mark.spec("A8")
async def test_the_configuration_can_refuse_unattended_calls(engine: TestEngine, project: Project) -> None:
    project.configure('[agents]\nunattended = "refuse"')
    done = await engine.answered("`touch ../x`", cwd=project.path)
    assert done.agent is not None
    assert "agents.unattended is `refuse`" in (done.agent.answer or "")
    assert proposed(engine) == []


@pytest.mark.spec("L10")
async def test_the_time_spent_waiting_for_approval_does_not_count_towards_a_timeout(
    engine: TestEngine, project: Project
) -> None:
    limit = await unhurried(engine)
    task = await engine.ask("`touch ../x`", cwd=project.path, timeout=limit, idle=limit)
    (child,) = await until(lambda: proposed(engine))
    await asyncio.sleep(limit + 1)
    assert (await engine.get(task.id)).state == "running"
    engine.engine.approve(child.id, by="ada", door="cli")
    assert (await engine.wait(task.id, timeout=WITHIN)).state == "completed"


@pytest.mark.spec("L5")
async def test_an_agent_that_waits_for_approval_lends_its_slot(narrow: TestEngine, project: Project) -> None:
    held = await narrow.ask("`touch ../x`", cwd=project.path)
    (child,) = await until(lambda: proposed(narrow))
    other = await narrow.answered("`echo hello`", cwd=project.path)
    assert other.state == "completed"
    narrow.engine.approve(child.id, by="ada", door="cli")
    assert (await narrow.wait(held.id, timeout=WITHIN)).state == "completed"


@pytest.mark.spec("L5")
async def test_a_lent_slot_is_returned_only_when_there_is_room(narrow: TestEngine, project: Project) -> None:
    held = await narrow.ask("`./deed a 1` `./deed b`", cwd=project.path)
    await until(lambda: waiting(narrow, held.id) == "task")
    other = await narrow.ask("`touch ../y`", cwd=project.path)
    await until(lambda: narrow.engine.store.view(other.id).latest.state == "running")
    running = 0
    while narrow.engine.store.view(held.id).is_live or running == 0:
        with_slot = [
            each
            for each in narrow.engine.list(Query(states=("running",)))
            if each.agent is not None and each.agent.waiting in (None, "turn")
        ]
        running = max(running, len(with_slot))
        assert running <= 1
        await asyncio.sleep(0.01)
    assert project.deeds() == ["a", "b"]
    await narrow.cancel(other.id)


@pytest.mark.spec("O11")
async def test_an_ended_run_waits_for_nothing(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`touch ../x`", cwd=project.path)
    (child,) = await until(lambda: proposed(engine))
    await until(lambda: waiting(engine, task.id) == "approval")
    await engine.cancel(task.id)
    assert (await engine.wait(task.id, timeout=WITHIN)).state == "cancelled"
    assert waiting(engine, task.id) is None
    assert engine.engine.store.view(child.id).state == "cancelled"


@pytest.mark.spec("L5")
async def test_agents_below_agents_do_not_deadlock(narrow: TestEngine, project: Project) -> None:
    script = Path(project.path, "deed")
    source = Path(errands.__file__).parent.parent
    asking = f"{sys.executable} -m errands ask -w -q 'please `echo marmalade`'"
    script.write_text(f"#!/bin/sh\nexport PYTHONPATH='{source}'\nexec {asking}\n")
    done = await narrow.answered("`./deed`", cwd=project.path)
    assert done.agent is not None
    assert "marmalade" in (done.agent.answer or "")


@pytest.mark.spec("R2")
async def test_a_person_goes_first_on_a_shared_model(
    engine: TestEngine, project: Project, home: Home
) -> None:
    limit = await unhurried(engine)
    with ModelGate(home.path):
        task = await engine.ask("`./deed a`", cwd=project.path, lane="local", timeout=limit)
        await until(lambda: waiting(engine, task.id) == "turn")
        await asyncio.sleep(limit + 0.5)
        assert project.deeds() == []
        assert (await engine.get(task.id)).state == "running"
    assert (await engine.wait(task.id, timeout=WITHIN)).state == "completed"
    assert project.deeds() == ["a"]


@pytest.mark.spec("R2")
async def test_other_lanes_do_not_share_the_model(engine: TestEngine, project: Project, home: Home) -> None:
    with ModelGate(home.path):
        assert (await engine.answered("`./deed a`", cwd=project.path)).state == "completed"


def test_several_may_hold_the_gate_and_it_opens_after_the_last(tmp_path: Path) -> None:
    gate, other = ModelGate(str(tmp_path)), ModelGate(str(tmp_path))
    with gate:
        with other:
            assert gate.is_closed()
        assert other.is_closed()
    assert not other.is_closed()


@pytest.mark.spec("S15", "O11")
async def test_the_usage_of_an_agent_is_added_up(engine: TestEngine, project: Project) -> None:
    context = await idle_context(engine, project)
    for _ in range(2):
        context.report(Activity(kind="usage", usage={"input_tokens": 100, "output_tokens": 7, "requests": 1}))
    context.report(Activity(kind="tool", name="read_file", call_id="c9"))
    context.write_activity()
    shown = as_json(await engine.get(context.run.rpartition(".")[0]))
    assert shown["usage"] == {"input_tokens": 200, "output_tokens": 14, "requests": 2, "tool_calls": 2}
    assert shown["recent_tools"] == ["command", "read_file"]


@pytest.mark.spec("S15")
async def test_activity_that_could_not_be_written_is_written_later(
    engine: TestEngine, project: Project, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = await idle_context(engine, project)
    monkeypatch.setattr(connection, "PATIENCE", 0.05)
    context.report(Activity(kind="usage", usage={"input_tokens": 100}))
    with closing(sqlite3.connect(home.store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        context.write_activity()
        other.execute("ROLLBACK")
    context.write_activity()
    shown = as_json(await engine.get(context.run.rpartition(".")[0]))
    assert shown["usage"]["input_tokens"] == 100


@pytest.mark.spec("R1")
async def test_the_system_prompt_has_the_description_of_the_task(
    engine: TestEngine, project: Project
) -> None:
    task = await engine.answered("hello", description="Greet the person.", cwd=project.path)
    context = RunContext(engine.engine, task.latest.id)
    assert context.session == f"task:{task.id}"
    assert context.spec.system == "You are executing a background task. Greet the person."
    assert context.text == "hello"


CALL = ToolCall(id="c1", tool="write_file", arguments={"path": "x", "text": "hello"})


async def idle_context(
    engine: TestEngine, project: Project, using: Engine | None = None, **options: Any
) -> RunContext:
    """Return the context of a run that is live in the store and that no other process works on."""
    task = await engine.ask("`sleep 600`", cwd=project.path, **options)
    await until(lambda: waiting(engine, task.id) == "task")
    return RunContext(using or engine.engine, task.latest.id)


@pytest.mark.spec("A8")
async def test_a_tool_call_is_answered_like_any_other_question(engine: TestEngine, project: Project) -> None:
    context = await idle_context(engine, project)
    task_id = context.run.rpartition(".")[0]
    asking = asyncio.create_task(context.request_approval(CALL))
    question = await until(lambda: engine.engine.store.question(task_id))
    assert question is not None
    assert 'write_file {"path": "x", "text": "hello"}' in question.reasons[0].text
    assert (await engine.get(task_id)).question == question
    notice = [json.loads(each.body) for each in await engine.take_notices()]
    assert [each["state"] for each in notice] == ["proposed"]

    engine.engine.approve(task_id, by="ada", door="cli")

    assert await asyncio.wait_for(asking, WITHIN) == Decision(allowed=True, reason="allowed by ada")
    assert (await engine.get(task_id)).state == "running"


@pytest.mark.spec("S14", "A8")
async def test_another_process_finds_the_answer(engine: TestEngine, project: Project) -> None:
    context = await idle_context(engine, project)
    task_id = context.run.rpartition(".")[0]
    asking = asyncio.create_task(context.request_approval(CALL))
    question = await until(lambda: engine.engine.store.question(task_id))
    asking.cancel()
    await asyncio.wait([asking])
    assert waiting(engine, task_id) != "approval"
    assert (await engine.get(task_id)).question == question  # a person never decides about a call unseen
    engine.engine.reject(task_id, by="ada", door="cli", note="why?")

    again = RunContext(engine.engine, context.run)

    assert await again.request_approval(CALL) == Decision(allowed=False, reason="refused by ada: why?")
    assert len(engine.engine.store.approvals(task_id)) == 1


@pytest.mark.spec("A8", "A10")
async def test_an_answer_counts_for_one_tool_call_only(engine: TestEngine, project: Project) -> None:
    context = await idle_context(engine, project)
    task_id = context.run.rpartition(".")[0]
    asking = asyncio.create_task(context.request_approval(CALL))
    await until(lambda: engine.engine.store.question(task_id))
    engine.engine.approve(task_id, by="ada", door="cli")
    assert (await asyncio.wait_for(asking, WITHIN)).allowed

    other = ToolCall(id="c1", tool="write_file", arguments={"path": "/etc/passwd", "text": "hello"})
    asking = asyncio.create_task(context.request_approval(other))
    await until(lambda: engine.engine.store.question(task_id))
    asking.cancel()
    await asyncio.wait([asking])


async def test_the_question_of_an_ended_run_is_void(engine: TestEngine, project: Project) -> None:
    context = await idle_context(engine, project)
    task_id = context.run.rpartition(".")[0]
    asking = asyncio.create_task(context.request_approval(CALL))
    await until(lambda: engine.engine.store.question(task_id))
    await engine.cancel(task_id)
    await engine.wait(task_id, timeout=WITHIN)
    assert engine.engine.store.question(task_id) is None
    asking.cancel()
    await asyncio.wait([asking])


@pytest.mark.spec("A8")
async def test_the_judge_allows_harmless_commands_and_denies_what_a_rule_denies(
    engine: TestEngine, project: Project
) -> None:
    context = await idle_context(engine, project)
    harmless = ToolCall(id="c2", tool="bash", arguments={"command": "ls"}, command="ls")
    assert await context.request_approval(harmless) == Decision(allowed=True)
