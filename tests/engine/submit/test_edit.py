"""A pending task can be edited before it starts; it is judged again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.errors import BadValue, IllegalMove, UnknownAgent
from errands.model.options.draft import Draft
from errands.model.view import View
from errands.ports.home import Home
from errands.testing.engines import TestEngine

WAITING = "echo ready; read line"


@pytest.mark.spec("L28")
async def test_a_pending_task_is_edited_and_runs_as_it_is_now(engine: TestEngine, tmp_path: Path) -> None:
    task = await engine.submit("echo old", hold=True, timeout="1h", env={"WORD": "kept"})
    edited = await engine.edit(
        task.id, command="echo $WORD; pwd", cwd=str(tmp_path), batch="b", idle="30m", priority="high"
    )
    assert (edited.id, edited.command, edited.batch, edited.priority) == (
        task.id,
        "echo $WORD; pwd",
        "b",
        "high",
    )
    limits = ((await engine.get(task.id)).details or {})["limits"]
    assert (limits["timeout"], limits["idle"]) == (3600, 1800)
    assert b"echo $WORD" in Path(edited.latest.output_file).read_bytes()
    assert edited.is_held

    await engine.release(task.id)
    await engine.wait(task.id)
    assert await engine.text(task.id) == f"kept\n{tmp_path}\n"
    assert "edited" in [event.name for event in await engine.events(task.id)]


@pytest.mark.spec("L28")
def test_an_edited_task_is_judged_anew_and_its_question_is_renewed(
    asking: Engine, harm: Draft, tmp_path: Path
) -> None:
    task = asking.submit(harm)
    first = asking.get(task.id).question
    assert first is not None
    worse = tmp_path / "worse"
    edited = asking.queue.edit(task.id, command=("rm", "-rf", str(worse)))
    second = edited.question
    assert second is not None
    assert second.id != first.id
    assert any(str(worse) in reason.text for reason in second.reasons)
    assert [each.state for each in asking.approvals(task.id)] == ["void", "waiting"]

    harmless = asking.queue.edit(task.id, command="true")
    assert (harmless.state, harmless.question, harmless.approved_by) == ("pending", None, "judge")
    again = asking.queue.edit(task.id, command=("rm", str(worse)))
    assert again.state == "proposed"


def test_an_approval_does_not_cover_what_was_edited_since(
    asking: Engine, harm: Draft, tmp_path: Path
) -> None:
    task = asking.submit(harm)
    asking.queue.hold(task.id)
    asking.approve(task.id, by="ada", door="python")
    edited = asking.queue.edit(task.id, command=("rm", "-rf", str(tmp_path / "other")))

    assert (edited.state, edited.approved_by) == ("proposed", None)


async def test_what_cannot_be_edited_says_so(engine: TestEngine) -> None:
    running = await engine.started(WAITING, input="pipe")
    with pytest.raises(IllegalMove, match="only a pending task can be edited"):
        await engine.edit(running.id, command="true")
    held = await engine.submit("true", hold=True)
    for changes, why in (
        ({}, "nothing to change"),
        ({"key": "k"}, "cannot be edited"),
        ({"timeuot": "1h"}, "did you mean timeout"),
        ({"lane": "nowhere"}, "unknown lane"),
        ({"timeout": "soon"}, "timeout"),
    ):
        with pytest.raises(BadValue, match=why):
            await engine.edit(held.id, **changes)
    prompt = await engine.ask("run `true`", agent="offline", hold=True)
    for task, changes, why in (
        (prompt, {"command": "true"}, "is a prompt, not a command"),
        (held, {"prompt": "hello"}, "is a command, not a prompt"),
        (held, {"agent": "offline"}, "agent is for prompts"),
        (held, {"every": "1h"}, "runs once"),
        (held, {"zone": "Europe/Vienna"}, "runs once"),
        (prompt, {"agent": "nobody"}, "unknown agent"),
    ):
        with pytest.raises((BadValue, UnknownAgent), match=why):
            await engine.edit(task.id, **changes)


@pytest.mark.spec("L28")
async def test_a_prompt_is_edited_and_its_agent_is_asked_what_it_is_now(engine: TestEngine) -> None:
    task = await engine.ask("run `echo old`", agent="offline", hold=True)
    engine.engine.sessions.expect(task.latest.id)  # a caller that blocks has written down the prompt
    edited = await engine.edit(task.id, prompt="run `echo new; pwd`", cwd="/", timeout="5m")
    assert edited.agent is not None
    assert (edited.command, edited.agent.timeout) == ("run `echo new; pwd`", timedelta(minutes=5))
    assert b"echo new" in Path(edited.latest.output_file).read_bytes()

    await engine.release(task.id)
    answered = await engine.wait(task.id)
    assert answered.state == "completed"
    assert "new" in await engine.text(task.id)
    ran = await engine.list(parent=f"task:{task.id}")
    assert [(each.command, each.cwd) for each in ran] == [("echo new; pwd", "/")]
    assert "old" not in await engine.text(task.id)


@pytest.mark.spec("L28")
def test_a_prompt_that_is_allowed_more_needs_approval(asking: Engine) -> None:
    task = asking.submit(Draft(prompt="hello", agent="offline", hold=True))
    assert asking.get(task.id).state == "pending"
    edited = asking.queue.edit(task.id, allow=("git push *",))
    assert edited.state == "proposed"
    assert edited.question is not None
    assert any("git push" in reason.text for reason in edited.question.reasons)
    assert asking.queue.edit(task.id, allow=()).state == "pending"


def test_another_agent_brings_its_own_model_and_lane(asking: Engine, config_file: Path, home: Home) -> None:
    config_file.write_text(
        '[agents.one]\nbackend = "builtin"\nmodel = "openai:first"\nlane = "fast"\n'
        '[agents.two]\nbackend = "builtin"\nmodel = "openai:second"\n[lanes]\nfast = 2\n'
    )
    engine = open_engine(home)
    try:
        task = engine.submit(Draft(prompt="hello", agent="one", hold=True))
        assert _brought(task) == ("one", "openai:first", "fast")
        assert _brought(engine.queue.edit(task.id, agent="two")) == ("two", "openai:second", "agent")
        engine.queue.edit(task.id, lane="shell")
        moved = engine.queue.edit(task.id, agent="one", model="openai:third")
        assert _brought(moved) == ("one", "openai:third", "shell")
    finally:
        engine.close()


def _brought(view: View) -> tuple[str, str | None, str]:
    assert view.agent is not None
    return view.agent.name, view.agent.model, view.lane


async def test_an_edit_of_what_changed_meanwhile_changes_nothing(
    engine: TestEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await engine.submit("echo old", hold=True)
    rule = engine.engine._ruling

    def slow(draft: Draft, seen: object) -> object:
        monkeypatch.undo()
        engine.engine.queue.edit(task.id, command="echo first")
        return rule(draft, {})

    monkeypatch.setattr(engine.engine, "_ruling", slow)
    with pytest.raises(IllegalMove, match="has started or changed since"):
        await engine.edit(task.id, command="echo second")
    assert (await engine.get(task.id)).command == "echo first"
