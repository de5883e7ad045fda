"""The specification of a prompt applies to the whole conversation, and no part of it is ignored."""

from __future__ import annotations

import pytest

from errands.bootstrap import open_engine
from errands.model.action import Prompt
from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.testing.engines import WITHIN, TestEngine
from tests.engine.agent_project import Project


@pytest.mark.trap(58)
async def test_a_resume_has_the_specification_of_the_first_run(engine: TestEngine, project: Project) -> None:
    task = await engine.answered(
        "`pwd`",
        cwd=project.path,
        description="look around",
        tools=("command",),
        budget={"requests": 3},
        timeout=60,
        env={"A": "b"},
    )
    before = engine.engine.store.task(task.id)
    await engine.resume(task.id, "`pwd`")
    done = await engine.wait(task.id, timeout=WITHIN)
    after = engine.engine.store.task(task.id)
    assert after.action == before.action
    assert isinstance(after.action, Prompt)
    assert after.action.tools == ("command",)
    assert after.limits == before.limits
    assert done.agent is not None
    assert project.path in (done.agent.answer or "")


@pytest.mark.trap(58)
async def test_a_resume_is_answered_by_the_model_of_the_first_run(
    home: Home, project: Project, engine: TestEngine
) -> None:
    project.configure('[agents.echo]\nbackend = "command"\ncommand = ["echo", "{model}"]\nmodel = "usual"')
    client = open_engine(home)
    task = client.sessions.ask(Draft(prompt="hello", agent="echo", model="special"))
    client.close()
    await engine.wait(task.id, timeout=WITHIN)
    await engine.resume(task.id, "and now?")
    done = await engine.wait(task.id, timeout=WITHIN)
    assert done.agent is not None
    assert (done.agent.resume_count, done.agent.answer) == (1, "special")


@pytest.mark.trap(58)
async def test_an_option_that_a_resume_would_ignore_is_refused(engine: TestEngine) -> None:
    task = await engine.answered("hello")
    with pytest.raises(BadValue, match="a resume does not take cwd, model: a conversation keeps"):
        await engine.ask("go on", resume=task.id, model="m", cwd="/")
    assert (await engine.get(task.id)).runs == 1


@pytest.mark.spec("R5")
async def test_a_model_or_a_tool_that_the_offline_agent_lacks_is_refused(engine: TestEngine) -> None:
    with pytest.raises(BadValue, match="cannot use the model 'm'; leave it out, or ask an agent that has"):
        await engine.ask("hello", model="m")
    with pytest.raises(BadValue, match="its one tool is `command`, not 'read_file'"):
        await engine.ask("hello", tools=("command", "read_file"))
    assert await engine.list() == []
