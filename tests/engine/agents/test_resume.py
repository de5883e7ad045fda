"""Resumes: a conversation goes on where it was, one message at a time."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from errands import agents
from errands.bootstrap import open_engine
from errands.model.agent.session import TOO_SOON
from errands.model.errors import AgentUnavailable, BadValue, ErrandsError, NotFound, NotResumable, SessionGone
from errands.model.options.draft import Draft
from errands.ports.agent import SoughtSession
from errands.ports.home import Home
from errands.testing.engines import WITHIN, TestEngine, embedded, until
from tests.engine.agent_project import Codex, Project


@pytest.mark.spec("S2", "S4", "O17")
async def test_a_resume_returns_at_once_and_sees_the_whole_conversation(
    project: Project, engine: TestEngine
) -> None:
    task = await engine.answered("say marmalade", agent="cat")
    assert task.agent is not None
    assert task.agent.resume_count == 0

    resumed = await engine.resume(task.id, "what was said?")
    assert resumed.is_live
    assert resumed.latest.cause == "resume"
    header = Path(resumed.latest.output_file).read_text()
    assert header.startswith(f"# task      {task.id}, run 2\n")
    assert "# prompt    what was said?\n" in header

    done = await engine.wait(task.id, timeout=WITHIN)
    assert done.agent is not None
    assert done.agent.resume_count == 1
    assert "marmalade" in (done.agent.answer or "")


@pytest.mark.spec("S1", "S3")
@pytest.mark.trap(60)
async def test_a_resume_is_a_new_run_that_sends_its_own_prompt_only(
    engine: TestEngine, project: Project
) -> None:
    task = await engine.answered("`./deed first`", cwd=project.path)
    await engine.resume(task.id, "`./deed second`")
    done = await engine.wait(task.id, timeout=WITHIN)

    assert project.deeds() == ["first", "second"]
    assert done.state == "completed"
    assert done.agent is not None
    assert "did second" in (done.agent.answer or "")
    assert "did first" not in (done.agent.answer or "")
    said = engine.engine.sessions.conversation(task.id)
    assert [each.text for _, each in said] == ["`./deed first`", "`./deed second`"]


@pytest.mark.spec("S3")
async def test_a_task_is_marked_resumed_while_its_resume_runs(engine: TestEngine, project: Project) -> None:
    task = await engine.answered("`true`")
    await engine.resume(task.id, "`./deed x 30`")
    await until(lambda: engine.engine.store.view(task.id).latest.state == "running")
    assert (await engine.get(task.id)).is_resumed
    await engine.cancel(task.id)


@pytest.mark.spec("S5")
@pytest.mark.fault("F42")
async def test_a_task_that_cannot_be_resumed_is_refused_with_the_documented_message(
    engine: TestEngine, project: Project
) -> None:
    with pytest.raises(NotFound) as missing:
        await engine.resume("nobody-222222", "go on")
    assert str(missing.value) == "Task not found: nobody-222222"

    running = await engine.ask("`./deed x 30`", cwd=project.path)
    await until(lambda: engine.engine.store.view(running.id).latest.state == "running")
    with pytest.raises(NotResumable) as busy:
        await engine.resume(running.id, "go on")
    assert str(busy.value) == (
        "Cannot resume task: status is 'running'. Only completed tasks can be resumed."
    )
    await engine.cancel(running.id)
    await engine.wait(running.id, timeout=WITHIN)
    with pytest.raises(NotResumable) as stopped:
        await engine.resume(running.id, "go on")
    assert "status is 'cancelled'." in str(stopped.value)

    shell = await engine.finished("true")
    with pytest.raises(BadValue, match="only agents"):
        await engine.resume(shell.id, "go on")


@pytest.mark.spec("S5", "S18")
@pytest.mark.fault("F42")
async def test_a_session_that_its_program_lost_is_refused_before_it_is_counted(
    project: Project, engine: TestEngine, tmp_path: Path
) -> None:
    codex = Codex(tmp_path)
    project.configure(codex.config)
    client = open_engine(engine.engine.home)
    asked = client.sessions.ask(Draft(prompt="hello", agent="codex"))
    task = await engine.wait(asked.id, timeout=WITHIN)
    assert task.agent is not None
    assert (task.state, task.agent.answer) == ("completed", "well")
    client.sessions.resume(task.id, "again")
    assert (await engine.wait(task.id, timeout=WITHIN)).state == "completed"

    codex.forget()
    with pytest.raises(SessionGone) as gone:
        client.sessions.resume(task.id, "go on")

    assert str(gone.value) == "Session expired or was deleted. Start a new background_task to continue."
    view = await engine.get(task.id)
    assert view.agent is not None
    assert (view.state, view.runs, view.agent.resume_count) == ("completed", 2, 1)
    with pytest.raises(SessionGone):
        client.sessions.ask(Draft(prompt="go on", fork=task.id))
    client.close()


@pytest.mark.spec("S16", "S18")
async def test_a_missing_answer_about_a_session_is_not_its_deletion(
    project: Project, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unanswered(*_: object) -> bool:
        raise AgentUnavailable("the disk with its sessions does not answer")

    project.configure(Codex(tmp_path).config)
    async with embedded(home.path) as engine:
        task = await engine.answered("hello", agent="codex")
        monkeypatch.setattr(agents, "has_session", unanswered)
        await engine.resume(task.id, "again")
        done = await engine.wait(task.id, timeout=WITHIN)

    assert done.agent is not None
    assert (done.state, done.agent.resume_count, done.agent.answer) == ("completed", 1, "well")


@pytest.mark.spec("S16", "S18")
def test_a_server_that_does_not_answer_may_still_have_a_session(tmp_path: Path) -> None:
    unreachable = {"url": "http://127.0.0.1:9"}
    sought = SoughtSession(agent="opencode", name="ses_1", environ={}, cwd="/", messages=(), may_start=True)
    assert agents.has_session(sought, unreachable, str(tmp_path))


@pytest.mark.spec("S6")
@pytest.mark.fault("F41")
async def test_of_fifty_resumes_at_once_exactly_one_wins(
    engine: TestEngine, project: Project, home: Home
) -> None:
    task = await engine.answered("`true`", cwd=project.path)
    outcomes: list[str] = []
    together = threading.Barrier(50)

    def resume() -> None:
        mine = open_engine(home)
        together.wait()
        try:
            mine.sessions.resume(task.id, "`./deed x 2`")
            outcomes.append("won")
        except ErrandsError as error:
            outcomes.append(str(error))
        finally:
            mine.close()

    threads = [threading.Thread(target=resume) for _ in range(50)]
    for each in threads:
        each.start()
    for each in threads:
        await asyncio.to_thread(each.join)
    assert sorted(outcomes) == sorted(["won", *[TOO_SOON] * 49])
    done = await engine.wait(task.id, timeout=WITHIN)
    assert done.agent is not None
    assert done.agent.resume_count == 1
    assert project.deeds() == ["x"]


@pytest.mark.spec("S3")
@pytest.mark.trap(59)
@pytest.mark.fault("F41")
async def test_a_failed_resume_keeps_the_earlier_result_and_can_be_tried_again(
    engine: TestEngine, project: Project
) -> None:
    task = await engine.answered("`echo marmalade`", cwd=project.path, budget={"tool_calls": 1})
    await engine.resume(task.id, "`./deed x` `./deed y`")
    failed = await engine.wait(task.id, timeout=WITHIN)
    assert (failed.state, failed.latest.failure) == ("failed", "budget")
    assert project.deeds() == ["x"]
    assert "marmalade" in (await engine.get(task.id)).details["result"]  # type: ignore[index]

    await engine.resume(task.id, "`echo honey`")
    done = await engine.wait(task.id, timeout=WITHIN)
    assert done.state == "completed"
    assert done.agent is not None
    assert "honey" in (done.agent.answer or "")
    assert done.agent.resume_count == 2
