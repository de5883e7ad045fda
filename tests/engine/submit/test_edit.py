"""A pending task can be edited before it starts; it is judged anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.engine.engine import Engine
from errands.model.errors import BadValue, IllegalMove
from errands.model.options.draft import Draft
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
    with pytest.raises(IllegalMove, match="is a prompt"):
        await engine.edit(prompt.id, command="true")
    recurring = await engine.submit("true", every="1h")
    with pytest.raises(IllegalMove):
        await engine.edit(recurring.id, command="true")


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
    with pytest.raises(IllegalMove, match="changed meanwhile"):
        await engine.edit(task.id, command="echo second")
    assert (await engine.get(task.id)).command == "echo first"
