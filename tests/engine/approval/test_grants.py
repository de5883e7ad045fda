"""Grants: an answer, or the start of an agent, can cover the whole task, and can be taken back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from errands.engine.engine import Engine
from errands.model.errors import BadValue, NotAPerson
from errands.model.options.draft import Draft
from errands.model.record import evolve
from errands.model.view import View
from errands.ports.agent import Decision, ToolCall
from errands.ports.store import Query
from errands.testing.engines import WITHIN, TestEngine, until
from tests.engine.agent_project import Project
from tests.engine.agents.test_sessions_waiting import CALL, idle_context

PERSON: dict[str, Any] = {"by": "ada", "door": "terminal"}


def proposed(engine: TestEngine) -> list[View]:
    return engine.engine.list(Query(states=("proposed",)))


def files(project: Project, *names: str) -> list[Path]:
    found = [Path(project.path, name) for name in names]
    for each in found:
        each.touch()
    return found


@pytest.mark.spec("A6", "A14")
async def test_an_agent_does_not_ask_again_for_what_it_was_started_with(
    engine: TestEngine, project: Project, asking: Engine
) -> None:
    first, second = files(project, "a.tmp", "b.tmp")
    prompt = "`rm a.tmp` and `rm b.tmp`"
    task = asking.submit(Draft(prompt=prompt, cwd=project.path, allow=("rm *.tmp",)))
    assert task.state == "proposed"
    assert task.question is not None
    assert [each.text for each in task.question.reasons] == ["lets the agent run `rm *.tmp` without asking"]

    engine.engine.approve(task.id, **PERSON)

    assert (await engine.wait(task.id, timeout=WITHIN)).state == "completed"
    assert not first.exists()
    assert not second.exists()
    children = engine.engine.list(Query(parent=f"task:{task.id}"))
    assert {each.approved_by for each in children} == {f"ada (for {task.id})"}
    (asked,) = engine.engine.approvals(task.id)
    assert (asked.scope, asked.by) == ("task", "ada")


@pytest.mark.spec("A6", "A14")
async def test_everything_else_that_an_agent_does_still_asks(engine: TestEngine, project: Project) -> None:
    kept, *_ = files(project, "kept", "a.tmp")
    task = await engine.ask("`rm a.tmp` and `rm kept`", cwd=project.path, allow=["rm *.tmp"])

    (child,) = await until(lambda: proposed(engine))
    assert child.command == "rm kept"
    engine.engine.reject(child.id, **PERSON)
    await engine.wait(task.id, timeout=WITHIN)
    assert kept.exists()


@pytest.mark.spec("A6")
@pytest.mark.parametrize("rule", ["bash *", "git *", "rm x; ls", "npx *", ""])
async def test_a_rule_that_would_allow_anything_is_refused(asking: Engine, rule: str) -> None:
    with pytest.raises(BadValue, match="rule"):
        asking.submit(Draft(prompt="go on", allow=(rule,)))


@pytest.mark.spec("A6")
@pytest.mark.parametrize("name", ["", "*", "Bash", "command", "execute", "two words"])
async def test_a_tool_that_runs_commands_or_is_none_is_refused(asking: Engine, name: str) -> None:
    with pytest.raises(BadValue, match="tool"):
        asking.submit(Draft(prompt="go on", allow_tools=(name,)))


@pytest.mark.spec("A6", "A8")
async def test_an_agent_does_not_ask_about_tools_that_it_was_started_with(
    engine: TestEngine, project: Project
) -> None:
    context = await idle_context(engine, project, allow_tools=["write_file", "mcp_notes_*"])
    task_id = context.run.rpartition(".")[0]
    (asked,) = engine.engine.approvals(task_id)
    assert "lets the agent use the tool `mcp_notes_*` without asking" in [each.text for each in asked.reasons]

    for tool in ("write_file", "mcp_notes_add"):
        call = ToolCall(id=tool, tool=tool, arguments={"path": tool})
        waiting = asyncio.create_task(context.request_approval(call))
        await until(lambda: waiting.done() or engine.engine.store.question(task_id))  # noqa: B023
        assert waiting.done(), f"it asks about {tool}"
        assert (await waiting).allowed
    Path(project.path, ".git").mkdir()
    Path(project.path, "linked").symlink_to(".git")
    for call in (
        ToolCall(id="h1", tool="write_file", arguments={"path": ".git/hooks/pre-commit"}),
        ToolCall(id="h2", tool="write_file", arguments={"edits": [{"file": "linked/config"}]}),
        ToolCall(id="c1", tool="mcp_note", arguments={}),
        ToolCall(id="c2", tool="write_file", arguments={"command": "rm x"}, command="rm x"),
    ):
        waiting = asyncio.create_task(context.request_approval(call))
        await until(lambda: engine.engine.store.question(task_id))
        engine.engine.reject(task_id, **PERSON)
        assert not (await asyncio.wait_for(waiting, WITHIN)).allowed


@pytest.mark.spec("A6", "A8")
async def test_an_agent_passes_on_what_it_has_and_no_more(
    engine: TestEngine, project: Project, asking: Engine
) -> None:
    (victim,) = files(project, "a.tmp")
    Path(project.path, "out").symlink_to("/")
    given: dict[str, Any] = {"allow": ["rm *.tmp", "mv *"], "allow_tools": ["edit"]}
    parent = await engine.ask("`sleep 600`", agent="offline", cwd=project.path, **given)

    def child(**options: Any) -> View:
        options = {"cwd": project.path, "created_by": f"run {parent.latest.id}", **options}
        return asking.submit(Draft(prompt="`rm a.tmp`", **options))

    for options in (
        {"allow": ("rm *",)},
        {"allow": ("rm *.tmp",), "allow_tools": ("write_file",)},
        {"allow": ("rm *.tmp",), "cwd": "/"},
        {"allow": ("rm *.tmp",), "cwd": f"{project.path}/out"},
        {"allow": ("rm *.tmp",), "every": "1h"},
        {"allow": ("rm *.tmp",), "env": {"PAGER": "x"}},
    ):
        wider = child(**options)
        assert wider.state == "proposed", options
    less = child(allow=("rm *.tmp",), allow_tools=("edit",))

    assert less.approved_by == f"python (--yes) (for {parent.id})"
    assert (await engine.wait(less.id, timeout=WITHIN)).state == "completed"
    assert not victim.exists()
    assert engine.engine.withdraw_task_approvals(parent.id, **PERSON) == 2
    assert child(allow=("rm *.tmp",)).state == "proposed"
    await engine.cancel(parent.id)


@pytest.mark.spec("A6", "A8")
async def test_what_an_agent_was_started_with_ends_with_its_run(
    engine: TestEngine, project: Project, asking: Engine
) -> None:
    files(project, "a.tmp")
    agent = await engine.ask("`sleep 600`", agent="offline", cwd=project.path, allow=["rm *.tmp"])
    draft = Draft(command="rm a.tmp", cwd=project.path, created_by=f"run {agent.latest.id}")
    for options in ({"every": "1h"}, {"cwd": "/"}):
        assert asking.submit(evolve(draft, **options)).state == "proposed", options
    await engine.cancel(agent.id)
    await engine.wait(agent.id, timeout=WITHIN)

    assert asking.submit(draft).state == "proposed"


@pytest.mark.spec("A6", "A8")
async def test_a_deny_rule_wins_over_what_an_agent_was_started_with(
    engine: TestEngine, project: Project
) -> None:
    (kept,) = files(project, "a.tmp")
    project.configure('deny = ["rm *"]')
    task = await engine.ask("`rm a.tmp`", cwd=project.path, allow=["rm *.tmp"])
    await engine.wait(task.id, timeout=WITHIN)
    assert kept.exists()


@pytest.mark.spec("A14")
async def test_an_answer_for_the_task_covers_the_same_command_of_the_same_agent(
    engine: TestEngine, project: Project, asking: Engine
) -> None:
    victim, _ = files(project, "x", "y")
    task = await engine.ask("`rm x` and `rm y` and `rm x`", cwd=project.path)
    (child,) = await until(lambda: proposed(engine))
    engine.engine.approve(child.id, scope="task", **PERSON)
    (other,) = await until(lambda: [each for each in proposed(engine) if each.id != child.id])
    assert other.command == "rm y"
    victim.touch()
    engine.engine.approve(other.id, **PERSON)

    await engine.wait(task.id, timeout=WITHIN)
    last = engine.engine.list(Query(parent=f"task:{task.id}"))[0]
    assert (last.command, last.approved_by) == ("rm x", f"ada (for {task.id})")
    assert not victim.exists()
    assert asking.submit(Draft(command="rm x", cwd=project.path)).state == "proposed"


@pytest.mark.spec("A14", "A8")
async def test_an_answer_for_the_task_covers_the_same_call_of_the_same_agent(
    engine: TestEngine, project: Project
) -> None:
    context = await idle_context(engine, project)
    task_id = context.run.rpartition(".")[0]
    waiting = asyncio.create_task(context.request_approval(CALL))
    await until(lambda: engine.engine.store.question(task_id))
    engine.engine.approve(task_id, scope="task", **PERSON)
    await asyncio.wait_for(waiting, WITHIN)

    again = ToolCall(id="c2", tool=CALL.tool, arguments=CALL.arguments)
    decided = await asyncio.wait_for(context.request_approval(again), WITHIN)
    assert decided == Decision(allowed=True, reason="allowed by ada")

    other = ToolCall(id="c3", tool=CALL.tool, arguments={"path": "y", "text": "hello"})
    waiting = asyncio.create_task(context.request_approval(other))
    await until(lambda: engine.engine.store.question(task_id))
    engine.engine.reject(task_id, **PERSON)
    assert not (await asyncio.wait_for(waiting, WITHIN)).allowed


@pytest.mark.spec("A14", "A8")
async def test_a_call_that_runs_a_script_is_approved_each_time(engine: TestEngine, project: Project) -> None:
    context = await idle_context(engine, project)
    task_id = context.run.rpartition(".")[0]
    Path(project.path, "go.sh").write_text("rm x")
    call = ToolCall(id="c1", tool="Bash", arguments={"command": "sh go.sh"}, command="sh go.sh")
    waiting = asyncio.create_task(context.request_approval(call))
    await until(lambda: engine.engine.store.question(task_id))

    with pytest.raises(BadValue, match="without --task"):
        engine.engine.approve(task_id, scope="task", **PERSON)

    engine.engine.approve(task_id, **PERSON)
    assert (await asyncio.wait_for(waiting, WITHIN)).allowed


@pytest.mark.spec("A14")
async def test_what_was_approved_for_a_task_can_be_taken_back(engine: TestEngine, project: Project) -> None:
    first, second = files(project, "a.tmp", "x")
    task = await engine.ask("`rm x` and `rm a.tmp`", cwd=project.path, allow=["rm *.tmp"])
    (child,) = await until(lambda: proposed(engine))

    with pytest.raises(NotAPerson):
        engine.engine.withdraw_task_approvals(task.id, by=f"run {task.id}.1", door="cli")
    assert engine.engine.withdraw_task_approvals(task.id, **PERSON) == 1
    assert engine.engine.withdraw_task_approvals(task.id, **PERSON) == 0

    engine.engine.reject(child.id, **PERSON)
    (asked,) = await until(lambda: [each for each in proposed(engine) if each.id != child.id])
    assert asked.command == "rm a.tmp"
    engine.engine.reject(asked.id, **PERSON)
    await engine.wait(task.id, timeout=WITHIN)
    assert first.exists()
    assert second.exists()


@pytest.mark.spec("A6")
async def test_an_agent_that_may_not_wait_does_what_it_was_started_with(
    engine: TestEngine, project: Project
) -> None:
    (victim,) = files(project, "a.tmp")
    project.configure('[agents]\nunattended = "refuse"\n')
    task = await engine.ask("`rm a.tmp`", cwd=project.path, allow=["rm *.tmp"])
    assert (await engine.wait(task.id, timeout=WITHIN)).state == "completed"
    assert not victim.exists()
