"""The scenarios of background tasks that are agents, each by its name."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from errands.dialects import named
from errands.model.agent.fork import PREAMBLE
from errands.model.errors import BadValue, NotResumable, SessionGone, StillLive
from errands.model.view import View, as_json, exit_code
from errands.ports.dialect import Caller
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import WITHIN, TestEngine, embedded, until
from tests.engine.agent_project import Codex, Project
from tests.scenarios.placing import GONE_THERE, Placing, own_place


def messages(engine: TestEngine, task: View, placed: Placing | None) -> list[dict[str, Any]]:
    """Return what is stored of a conversation, by the home that has its session."""
    runner, own_id = own_place(engine, task.id, placed)
    found = runner.store.session(own_id)
    assert found is not None
    return [json.loads(each) for each in runner.store.messages(found)]


def answer(task: View) -> str:
    assert task.agent is not None
    return task.agent.answer or ""


@pytest.mark.spec("L1", "L2")
async def test_launch_background_task(engine: TestEngine) -> None:
    task = await engine.ask(
        "`echo hello`", description="say hello", agent="offline", parent="chat-1", message="m1"
    )
    other = await engine.ask("`echo hello`", description="say hello")
    assert task.id != other.id
    assert task.state in ("pending", "running")
    shown = as_json(await engine.get(task.id))
    assert (shown["parent"], shown["message"]) == ("chat-1", "m1")
    assert (shown["description"], shown["prompt"], shown["agent"]) == ("say hello", "`echo hello`", "offline")


@pytest.mark.spec("S8")
async def test_launch_forked_background_task(project: Project, engine: TestEngine) -> None:
    parent = await engine.answered("say marmalade", agent="cat")
    fork = await engine.ask("what was said?", fork=parent.id)
    assert fork.is_live
    assert as_json(fork)["forked"] is True
    assert "marmalade" in answer(await engine.wait(fork.id, timeout=WITHIN))


@pytest.mark.spec("S8")
async def test_validate_mutually_exclusive_modes(project: Project, engine: TestEngine) -> None:
    parent = await engine.answered("hello", agent="cat")
    with pytest.raises(BadValue, match="fork and resume are mutually exclusive"):
        await engine.ask("go on", fork=parent.id, resume=parent.id)
    assert [each.id for each in await engine.list()] == [parent.id]


@pytest.mark.spec("L7")
async def test_track_task_completion(engine: TestEngine) -> None:
    task = await engine.answered("`echo marmalade`")
    assert task.state == "completed"
    assert task.latest.completed_at is not None
    assert "marmalade" in answer(task)


@pytest.mark.spec("L8")
async def test_handle_task_errors(engine: TestEngine, project: Project) -> None:
    task = await engine.answered("hello", cwd="/nowhere/at/all")
    assert task.state == "failed"
    assert "/nowhere/at/all" in (task.latest.error or "")


@pytest.mark.spec("L9")
async def test_cancel_running_tasks(engine: TestEngine, project: Project, placed: Placing | None) -> None:
    task = await engine.ask("`./deed x 60` `./deed y`", cwd=project.path)
    await until(project.deeds)
    await engine.cancel(task.id)
    done = await engine.wait(task.id, timeout=WITHIN)
    assert done.state == "cancelled"
    runner, own_id = own_place(engine, task.id, placed)
    (child,) = runner.list(Query(parent=f"task:{own_id}"))
    await until(lambda: runner.view(child.id).state == "cancelled")
    assert project.deeds() == ["x"]


@pytest.mark.spec("S3")
async def test_track_resumed_status(engine: TestEngine, project: Project) -> None:
    task = await engine.answered("`true`", cwd=project.path)
    await engine.resume(task.id, "`./deed x 1`")
    await until(project.deeds)
    shown = as_json(await engine.get(task.id))
    assert (shown["state"], shown["run_state"], shown["resumed"]) == ("resumed", "running", True)
    assert exit_code(await engine.get(task.id)) == 124
    assert [each.id for each in await engine.list(states=("resumed",))] == [task.id]
    done = await engine.wait(task.id, timeout=WITHIN)
    assert (done.state, done.is_resumed) == ("completed", False)


@pytest.mark.spec("O5")
async def test_retrieve_completed_task_results(engine: TestEngine) -> None:
    task = await engine.answered("`echo marmalade`", parent="chat-1")
    caller = Caller(session="chat-1", cwd="/", door="mcp")
    assert (await engine.get(task.id)).latest.retrieved_at is None

    reply = await named("opencode").call(engine, caller, "background_output", {"task_id": task.id})

    assert "marmalade" in reply.text
    read = (await engine.get(task.id)).latest
    assert read.retrieved_at is not None
    assert read.completed_at is not None
    assert read.retrieved_at >= read.completed_at
    await named("opencode").call(engine, caller, "background_output", {"task_id": task.id})
    assert (await engine.get(task.id)).latest.retrieved_at == read.retrieved_at


@pytest.mark.spec("O11")
async def test_check_running_task_status(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`./deed x 60`", cwd=project.path)
    await until(project.deeds)
    assert as_json(await engine.get(task.id))["state"] == "running"


@pytest.mark.spec("S1", "O14")
async def test_task_persistence(project: Project, engine: TestEngine) -> None:
    task = await engine.answered("hello", agent="cat", parent="chat-1")
    with engine.engine.store:
        late = engine.engine.clock.now() + timedelta(days=1000)
        engine.engine.store.see_session("chat-1", now=late)
    assert engine.engine.store.expired_tasks(before=late, limit=10) == []
    await engine.clear(task.id)
    assert await engine.list() == []
    assert engine.engine.store.sessions(limit=1) == []


@pytest.mark.spec("O11")
async def test_monitor_task_progress(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`echo one` `./deed x 60`", cwd=project.path)
    await until(lambda: as_json(engine.engine.store.view(task.id))["tool_calls"] == 2)
    shown = as_json(await engine.get(task.id))
    assert shown["recent_tools"] == ["command", "command"]
    assert shown["activity_at"] is not None


@pytest.mark.spec("L13")
async def test_group_related_tasks(engine: TestEngine, project: Project) -> None:
    tasks = [await engine.ask("`./deed x 60`", cwd=project.path, batch="b") for _ in range(2)]
    other = await engine.ask("`./deed x 60`", cwd=project.path, batch="c")
    await engine.cancel(*[each.id for each in await engine.list(batch="b")])
    done = await engine.wait_all([each.id for each in tasks], timeout=WITHIN)
    assert {each.state for each in done} == {"cancelled"}
    assert (await engine.get(other.id)).is_live


@pytest.mark.spec("S2")
async def test_resume_completed_task_with_follow_up_prompt(project: Project, engine: TestEngine) -> None:
    task = await engine.answered("say marmalade", agent="cat")
    resumed = await engine.resume(task.id, "what was said?")
    assert resumed.is_live
    assert "marmalade" in answer(await engine.wait(task.id, timeout=WITHIN))
    assert len(engine.engine.store.sessions(limit=10)) == 1


@pytest.mark.spec("S7")
async def test_resume_completion_notification(engine: TestEngine) -> None:
    task = await engine.answered("`true`", owner="chat-1")
    await engine.take_notices("chat-1")
    await engine.resume(task.id, "`echo marmalade`")
    done = await engine.wait(task.id, timeout=WITHIN)
    (notice,) = await engine.take_notices("chat-1")
    assert json.loads(notice.body)["answer"] == answer(done)
    assert done.state == "completed"


@pytest.mark.spec("S7", "O4")
async def test_wait_for_resume_response(engine: TestEngine) -> None:
    task = await engine.answered("`true`", parent="chat-1", owner="chat-1")
    await engine.take_notices("chat-1")
    caller = Caller(session="chat-1", cwd="/", door="mcp", wake="session")
    given = {"task_id": task.id, "message": "`echo marmalade`", "block": True}
    reply = await named("opencode").call(engine, caller, "background_resume", given)
    assert "marmalade" in reply.text
    assert engine.engine.store.inbox("chat-1") == []  # nor is a notice of it held back


@pytest.mark.spec("S5")
async def test_reject_resume_of_non_completed_task(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`./deed x 60`", cwd=project.path)
    await until(project.deeds)
    with pytest.raises(NotResumable, match=r"status is 'running'\. Only completed tasks can be resumed\."):
        await engine.resume(task.id, "go on")


@pytest.mark.spec("S5", "S6")
async def test_reject_concurrent_resume(engine: TestEngine, project: Project) -> None:
    task = await engine.answered("`true`", cwd=project.path)
    await engine.resume(task.id, "`./deed x 60`")
    with pytest.raises(NotResumable, match=r"^Task is currently being resumed\. Wait for completion before"):
        await engine.resume(task.id, "go on")


@pytest.mark.spec("S5")
async def test_handle_expired_session_on_resume(
    home: Home, project: Project, tmp_path: Path, placed: Placing | None
) -> None:
    codex = Codex(tmp_path)
    project.configure(codex.config)
    async with embedded(home.path) as engine:
        task = await engine.answered("hello", agent="codex")
        codex.forget()
        if placed is not None:  # only the host can tell
            await engine.resume(task.id, "go on")
            assert (await engine.wait(task.id, timeout=WITHIN)).latest.error == GONE_THERE
            return
        with pytest.raises(SessionGone, match="Start a new background_task to continue"):
            await engine.resume(task.id, "go on")


@pytest.mark.spec("S4")
async def test_increment_resume_count(engine: TestEngine) -> None:
    task = await engine.answered("`true`")
    for count in (1, 2):
        await engine.resume(task.id, "`true`")
        done = await engine.wait(task.id, timeout=WITHIN)
        assert as_json(done)["resume_count"] == count


@pytest.mark.spec("S4")
async def test_initial_resume_count(engine: TestEngine) -> None:
    assert as_json(await engine.ask("hello"))["resume_count"] == 0


async def test_show_resumed_indicator(project: Project, engine: TestEngine) -> None:
    task = await engine.answered("hello", agent="cat")
    await engine.resume(task.id, "go on")
    await engine.wait(task.id, timeout=WITHIN)
    assert [each.marks for each in await engine.list()] == ["(resumed)"]


async def test_show_forked_indicator(project: Project, engine: TestEngine) -> None:
    task = await engine.answered("hello", agent="cat")
    await engine.answered("go on", fork=task.id)
    assert [each.marks for each in await engine.list()] == ["(forked)", ""]


async def test_no_indicator_for_new_tasks(project: Project, engine: TestEngine) -> None:
    await engine.answered("hello", agent="cat")
    assert [each.marks for each in await engine.list()] == [""]


@pytest.mark.spec("S9")
async def test_fork_with_context_truncation(engine: TestEngine, placed: Placing | None) -> None:
    task = await engine.answered("`seq 1 2000`")
    fork = await engine.answered("`true`", fork=task.id)
    copied = messages(engine, fork, placed)
    (result, _) = [each for each in copied if each["role"] == "tool"]
    assert (result["call"], result["command"]) == ("call-1", "seq 1 2000")
    assert "8,893" in result["output"]


@pytest.mark.spec("S10")
async def test_fork_with_token_limit_enforcement(engine: TestEngine, placed: Placing | None) -> None:
    task = await engine.answered("`true` " + "old " * 150_000)
    await engine.resume(task.id, "`echo new`")
    await engine.wait(task.id, timeout=WITHIN)
    fork = await engine.answered("`true`", fork=task.id)
    copied = messages(engine, fork, placed)
    texts = [each["text"] for each in copied if each["role"] == "user"]
    assert texts == ["`echo new`", "`true`"]


@pytest.mark.spec("S11")
async def test_preamble_content(project: Project, engine: TestEngine) -> None:
    task = await engine.answered("say marmalade", agent="cat")
    fork = await engine.answered("go on", fork=task.id)
    said = answer(fork)
    assert said.index(PREAMBLE) < said.index("User: say marmalade") < said.index("User: go on")
    assert said.count("Assistant:") == 1  # the preamble caused no reply


@pytest.mark.trap(71)
async def test_filter_by_parent_session(engine: TestEngine) -> None:
    mine = await engine.answered("hello", parent="chat-1")
    await engine.answered("hello", parent="chat-2")
    assert [each.id for each in engine.engine.list(Query(parent="chat-1"))] == [mine.id]


async def test_empty_list_for_no_children(engine: TestEngine) -> None:
    await engine.answered("hello", parent="chat-2")
    assert engine.engine.list(Query(parent="chat-1")) == []


@pytest.mark.spec("O14")
async def test_a_running_agent_is_not_cleared(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`./deed x 60`", cwd=project.path)
    await until(project.deeds)
    with pytest.raises(StillLive):
        await engine.clear(task.id)
