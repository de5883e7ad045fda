"""The decisions about resuming, and the words for what cannot be resumed, each by its name."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from errands.bootstrap import SystemClock
from errands.dialects import named
from errands.model.errors import ErrandsError
from errands.ports.dialect import Caller
from errands.ports.home import Home
from errands.testing.engines import WITHIN, TestEngine, embedded, until
from tests.engine.agent_project import Codex, Project
from tests.scenarios.placing import GONE_THERE, Placing


@pytest.mark.spec("S5")
@pytest.mark.parametrize("state", ["running", "failed", "cancelled"])
async def test_only_completed_tasks_can_be_resumed(engine: TestEngine, project: Project, state: str) -> None:
    task = await engine.ask(
        "`./deed x 60`", cwd="/nowhere" if state == "failed" else project.path, description="a task"
    )
    if state != "failed":
        await until(project.deeds)
    if state == "cancelled":
        await engine.cancel(task.id)
    if state != "running":
        await engine.wait(task.id, timeout=WITHIN)
    with pytest.raises(ErrandsError) as refused:
        await engine.resume(task.id, "go on")
    assert str(refused.value) == (
        f"Cannot resume task: status is '{state}'. Only completed tasks can be resumed."
    )


@pytest.mark.spec("S3")
async def test_a_resume_that_was_cancelled_keeps_the_result_and_can_be_tried_again(
    engine: TestEngine, project: Project
) -> None:
    task = await engine.answered("`echo marmalade`", cwd=project.path)
    await engine.resume(task.id, "`./deed x 60`")
    await until(project.deeds)
    await engine.cancel(task.id)
    stopped = await engine.wait(task.id, timeout=WITHIN)
    assert stopped.state == "cancelled"
    assert "marmalade" in ((await engine.get(task.id)).details or {})["result"]

    await engine.resume(task.id, "`echo honey`")
    done = await engine.wait(task.id, timeout=WITHIN)
    assert done.agent is not None
    assert (done.state, done.agent.resume_count) == ("completed", 2)
    assert "honey" in (done.agent.answer or "")


@pytest.mark.spec("S3", "S6")
async def test_a_task_is_resumed_while_its_follow_up_is_processed(
    engine: TestEngine, project: Project
) -> None:
    task = await engine.answered("`true`", cwd=project.path)
    await engine.resume(task.id, "`./deed x 1`")
    await until(project.deeds)
    assert (await engine.get(task.id)).is_resumed
    with pytest.raises(ErrandsError) as refused:
        await engine.resume(task.id, "and more")
    assert str(refused.value) == (
        "Task is currently being resumed. Wait for completion before sending another message."
    )
    done = await engine.wait(task.id, timeout=WITHIN)
    assert (done.state, done.is_resumed) == ("completed", False)


@pytest.mark.spec("S1")
async def test_sessions_do_not_expire(
    project: Project, engine: TestEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await engine.answered("say marmalade", agent="cat", parent="chat-1")
    much_later = engine.engine.clock.now() + timedelta(days=10_000)
    with engine.engine.store:
        engine.engine.store.see_session("chat-1", now=much_later)
    assert engine.engine.store.expired_tasks(before=much_later, limit=10) == []
    assert engine.engine.store.superseded_runs(before=much_later, limit=10) == []
    monkeypatch.setattr(SystemClock, "now", lambda _: much_later)
    await engine.resume(task.id, "what was said?")
    done = await engine.wait(task.id, timeout=WITHIN)
    assert done.agent is not None
    assert "marmalade" in (done.agent.answer or "")


@pytest.mark.spec("S7")
async def test_notifications_only_without_blocking(engine: TestEngine) -> None:
    task = await engine.answered("`true`", parent="chat-1", owner="chat-1")
    assert len(await engine.take_notices("chat-1")) == 1
    caller = Caller(session="chat-1", cwd="/", door="mcp", wake="session")
    for word, block in (("one", True), ("two", False)):
        given = {"task_id": task.id, "message": f"`echo {word}`", "block": block}
        await named("opencode").call(engine, caller, "background_resume", given)
        await engine.wait(task.id, timeout=WITHIN)
    (notice,) = engine.engine.store.inbox("chat-1")  # those that are held back for a while included
    assert "$ echo two" in json.loads(notice.body)["answer"]


@pytest.mark.spec("S2")
async def test_the_full_history_is_preserved_for_the_agent(project: Project, engine: TestEngine) -> None:
    task = await engine.answered("say one", agent="cat")
    for prompt in ("say two", "say three", "what was said?"):
        await engine.resume(task.id, prompt)
        done = await engine.wait(task.id, timeout=WITHIN)
    assert done.agent is not None
    said = done.agent.answer or ""
    assert [f"User: say {word}" in said for word in ("one", "two", "three")] == [True] * 3
    assert said.index("say one") < said.index("say two") < said.index("say three")


@pytest.mark.spec("S5")
async def test_task_not_found(engine: TestEngine) -> None:
    for wrong in ("nobody-222222", "../../etc/passwd", ""):
        with pytest.raises(ErrandsError) as refused:
            await engine.resume(wrong, "go on")
        assert str(refused.value) == f"Task not found: {wrong}"


@pytest.mark.spec("S5")
async def test_session_expired(home: Home, project: Project, tmp_path: Path, placed: Placing | None) -> None:
    codex = Codex(tmp_path)
    project.configure(codex.config)
    async with embedded(home.path) as engine:
        task = await engine.answered("hello", agent="codex")
        codex.forget()
        if placed is not None:  # only the host can tell
            await engine.resume(task.id, "go on")
            assert (await engine.wait(task.id, timeout=WITHIN)).latest.error == GONE_THERE
            return
        with pytest.raises(ErrandsError) as refused:
            await engine.resume(task.id, "go on")
    assert str(refused.value) == "Session expired or was deleted. Start a new background_task to continue."
