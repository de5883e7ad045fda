"""Sessions: agents are prompted and forked, and nothing of a conversation is lost."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.config import BadConfig
from errands.engine.engine import Engine
from errands.model.agent.fork import PREAMBLE
from errands.model.agent.session import Session
from errands.model.errors import BadValue, UnknownAgent
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import WITHIN, TestEngine, until
from tests.engine.agent_project import Project, unhurried


@pytest.mark.spec("S8", "S11")
async def test_a_fork_begins_with_the_history_and_leaves_it_alone(
    project: Project, engine: TestEngine
) -> None:
    task = await engine.answered("say marmalade", agent="cat")
    before = engine.engine.store.messages(_session(engine, task.id))

    fork = await engine.answered("what was said?", fork=task.id)

    assert fork.agent is not None
    assert fork.agent.forked
    assert fork.marks == "(forked)"
    assert "marmalade" in (fork.agent.answer or "")
    assert "may be truncated" in (fork.agent.answer or "")
    assert engine.engine.store.messages(_session(engine, task.id)) == before
    # `cat` repeats what it is sent: what the system says, then the copy, then the prompt.
    assert (fork.agent.answer or "").startswith(
        f"You are executing a background task. what was said?\n\n{PREAMBLE}"
    )
    assert PREAMBLE not in (task.agent.answer or "") if task.agent else False


@pytest.mark.spec("S8")
async def test_a_fork_that_waits_does_not_hear_what_is_said_meanwhile(
    project: Project, engine: TestEngine, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    task = await engine.answered("say marmalade", agent="cat")
    first = await engine.submit(["cat", str(gate)])
    fork = await engine.ask("what was said?", fork=task.id, after=[first.id])
    await engine.resume(task.id, "say honey")
    await engine.wait(task.id)

    gate.write_text("go on")
    ended = await engine.wait(fork.id)

    assert ended.agent is not None
    assert "marmalade" in (ended.agent.answer or "")
    assert "honey" not in (ended.agent.answer or "")


@pytest.mark.spec("S9")
async def test_long_results_are_shortened_in_a_fork(engine: TestEngine) -> None:
    task = await engine.answered("`seq 1 2000`")
    fork = await engine.answered("`true`", fork=task.id)
    copied = [json.loads(each) for each in engine.engine.store.messages(_session(engine, fork.id))]
    (result, _) = [each for each in copied if each["role"] == "tool"]
    assert (result["call"], result["command"]) == ("call-1", "seq 1 2000")
    assert "of 8,893 characters]" in result["output"]
    assert len(result["output"]) < 1600


@pytest.mark.spec("S8")
async def test_fork_and_resume_together_are_refused_and_create_nothing(
    project: Project, engine: TestEngine
) -> None:
    task = await engine.answered("hello", agent="cat")
    with pytest.raises(BadValue, match="mutually exclusive"):
        await engine.ask("go on", fork=task.id, resume=task.id)
    assert len(await engine.list()) == 1


async def test_a_watcher_sees_that_an_agent_waits_for_approval(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`touch ../x`", cwd=project.path)
    async with asyncio.timeout(WITHIN):
        async for view in engine.watch(task.id):
            if view.agent is not None and view.agent.waiting == "approval":
                break
    await engine.approve(task.id, by="ada")
    assert (await engine.wait(task.id, timeout=WITHIN)).state == "completed"
    assert Path(project.path, "../x").exists()


@pytest.mark.spec("L10")
async def test_only_recurring_agents_have_a_timeout_by_default(engine: TestEngine) -> None:
    once = await engine.ask("`true`")
    often = await engine.ask("`true`", every="1h")
    chosen = await engine.ask("`true`", timeout="1m")
    limits = [engine.engine.store.task(each.id).limits.timeout for each in (once, often, chosen)]
    assert limits == [None, timedelta(minutes=5), timedelta(minutes=1)]
    assert [each.agent.timeout for each in await engine.list() if each.agent is not None] == limits[::-1]


@pytest.mark.spec("L10")
async def test_a_timeout_that_the_person_configured_holds_for_every_agent(
    project: Project, engine: TestEngine
) -> None:
    project.configure('[agents]\ntimeout = "20m"')
    client = open_engine(engine.engine.home)
    task = client.sessions.ask(Draft(prompt="`true`"))
    assert client.store.task(task.id).limits.timeout == timedelta(minutes=20)
    client.close()


@pytest.mark.spec("L10")
@pytest.mark.trap(63, 64)
async def test_nothing_further_happens_after_a_timeout(engine: TestEngine, project: Project) -> None:
    limit = await unhurried(engine)
    task = await engine.ask("`sleep 300` then `./deed x`", cwd=project.path, timeout=limit)
    done = await engine.wait(task.id, timeout=WITHIN)
    assert (done.state, done.latest.failure) == ("failed", "timeout")
    children = engine.engine.list(Query(parent=f"task:{task.id}"))
    await engine.wait_all([each.id for each in children], timeout=WITHIN)
    assert [each.state for each in engine.engine.list(Query(parent=f"task:{task.id}"))] == ["cancelled"]
    assert project.deeds() == []


@pytest.mark.spec("S7")
async def test_a_caller_that_blocks_gets_the_answer_and_no_notice(engine: TestEngine) -> None:
    task = await engine.ask("`echo marmalade`", is_awaited=True)
    await engine.wait(task.id, timeout=WITHIN)
    assert await engine.take_notices() == []
    engine.engine.sessions.acknowledge(task.latest.id, reader="me")
    await asyncio.sleep(2.2)  # as long as the notice is held back
    assert await engine.take_notices() == []


@pytest.mark.spec("N2", "S7")
async def test_whoever_else_a_task_reports_to_is_notified_although_its_session_has_the_answer(
    engine: TestEngine,
) -> None:
    channels = ["inbox:colleague", "desktop"]
    task = await engine.submit("echo marmalade", owner="session", channels=channels)
    await engine.wait(task.id, timeout=WITHIN)
    engine.engine.sessions.acknowledge(task.latest.id, reader="me")
    assert await engine.take_notices("session") == []
    (notice,) = await engine.take_notices("colleague")
    assert notice.task_id == task.id
    (waiting,) = engine.engine.notices.undelivered()
    assert waiting.address.channel == "desktop"


@pytest.mark.spec("S7")
async def test_a_conversation_that_has_the_answer_is_not_notified_in_its_channel_either(
    engine: TestEngine,
) -> None:
    channels = ["inbox:1234"]
    task = await engine.submit("echo marmalade", owner="chat:inbox-1234", channels=channels)
    await engine.wait(task.id, timeout=WITHIN)
    engine.engine.sessions.acknowledge(task.latest.id, reader="me")
    assert await engine.take_notices("1234") == []


@pytest.mark.spec("S7")
async def test_the_answer_is_reported_if_the_caller_that_blocks_for_it_dies(engine: TestEngine) -> None:
    task = await engine.ask("`echo marmalade`", is_awaited=True)
    await engine.wait(task.id, timeout=WITHIN)
    await asyncio.sleep(2.2)
    (notice,) = await engine.take_notices()
    assert "marmalade" in notice.body


@pytest.mark.spec("S7", "N6")
@pytest.mark.trap(14)
async def test_every_answer_is_reported_in_full_exactly_once(engine: TestEngine) -> None:
    task = await engine.answered("`echo marmalade`")
    await engine.resume(task.id, "`echo honey`")
    await engine.wait(task.id, timeout=WITHIN)
    first, second = [json.loads(each.body)["answer"] for each in await engine.take_notices()]
    assert "marmalade" in first
    assert "honey" in second
    assert "marmalade" not in second
    assert await engine.take_notices() == []


@pytest.mark.spec("R1")
async def test_a_restart_begins_a_fresh_conversation_with_the_same_name(engine: TestEngine) -> None:
    task = await engine.answered("`true`")
    await engine.restart(task.id)
    done = await engine.wait(task.id, timeout=WITHIN)
    assert done.agent is not None
    prompts = [each for each in engine.engine.store.messages(_session(engine, task.id)) if "user" in each]
    assert len(prompts) == 1
    assert _session(engine, task.id).name == f"task:{task.id}"
    assert len(engine.engine.store.sessions(limit=10)) == 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[agents.other]\nbackend = "nowhere"', r"agents\.other\.backend: unknown backend 'nowhere'"),
        ('[agents.other]\nbackend = "builtin"', r"agents\.other\.model: is missing"),
        ('[agents.other]\nbackend = "offline"\nlane = "gpu"', r"agents\.other\.lane: unknown lane 'gpu'"),
    ],
)
def test_an_agent_that_could_never_answer_is_refused_before_a_task_is_created(
    home: Home, project: Project, settings: str, said: str
) -> None:
    project.configure(settings)
    client = open_engine(home)
    with pytest.raises(BadConfig, match=said):
        client.sessions.ask(Draft(prompt="hello", agent="other"))
    assert client.list(Query()) == []
    client.close()


async def test_an_unknown_agent_is_refused(engine: TestEngine) -> None:
    with pytest.raises(UnknownAgent, match="did you mean offline"):
        await engine.ask("hello", agent="ofline")
    assert await engine.list() == []


@pytest.mark.trap(63)
async def test_the_depth_of_agents_below_agents_is_limited(client: Engine) -> None:
    environ = {"PATH": "/bin"}
    for depth in range(client.config.agents.depth + 1):
        agent = client.submit(Draft(prompt="hello", environ=environ))
        assert (client.get(agent.id).details or {})["depth"] == depth
        # An agent's command, or a command below that, asks the next agent.
        command = client.submit(Draft(command="true", created_by=f"run {agent.latest.id}"))
        below = client.submit(Draft(command="true", environ={"ERRANDS_RUN_ID": command.latest.id}))
        environ = {"ERRANDS_RUN_ID": below.latest.id, "PATH": "/bin"}
    with pytest.raises(BadValue, match=r"agents\.depth"):
        client.submit(Draft(prompt="hello", environ=environ))


@pytest.mark.trap(63)
async def test_a_command_cannot_pretend_to_be_less_deep(engine: TestEngine, project: Project) -> None:
    ask = f"{sys.executable} -m errands ask -q hello"
    Path(project.path, "deed").write_text(f"#!/bin/sh\nenv ERRANDS_RUN_ID=nobody-222222.1 {ask}\n")
    above = await engine.answered("`./deed x`", cwd=project.path)
    (below,) = [each for each in await engine.list() if each.agent is not None and each.id != above.id]
    assert ((await engine.get(below.id)).details or {})["depth"] == 1


@pytest.mark.trap(63)
def test_the_number_of_live_tasks_in_a_session_is_limited(client: Engine) -> None:
    for _ in range(client.config.agents.fan_out):
        client.submit(Draft(command="true", parent="task:hello-222222"))
    with pytest.raises(BadValue, match=r"agents\.fan_out"):
        client.submit(Draft(command="true", parent="task:hello-222222"))


@pytest.mark.spec("S16", "S1", "O13")
async def test_a_session_is_kept_until_its_parent_ends(engine: TestEngine) -> None:
    kept = await engine.answered("`true`", parent="chat-1")
    loose = await engine.answered("`true`", parent="chat-2")
    await engine.end_session("chat-2")
    now = engine.engine.clock.now()
    with engine.engine.store:
        engine.engine.store.see_session("chat-1", now=now)
    assert engine.engine.store.expired_tasks(before=now, limit=10) == [loose.id]
    assert (await engine.get(kept.id)).state == "completed"


@pytest.mark.spec("S16")
async def test_a_running_task_continues_when_its_parent_ends(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`./deed x 1`", cwd=project.path, parent="chat-1")
    await until(project.deeds)
    engine.engine.sessions.end_session("chat-1")
    assert (await engine.wait(task.id, timeout=WITHIN)).state == "completed"


@pytest.mark.spec("O11")
async def test_a_running_agent_shows_what_it_does(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`echo one` `./deed x 30`", cwd=project.path)
    await until(lambda: _calls(engine, task.id) == 2)
    view = await engine.get(task.id)
    assert view.agent is not None
    assert view.agent.tools == ("command", "command")
    assert view.activity_at is not None
    assert view.agent.activity_at == view.activity_at
    await engine.cancel(task.id)


@pytest.mark.trap(61)
async def test_an_agent_that_cannot_be_created_fails_with_the_reason(
    home: Home, project: Project, engine: TestEngine
) -> None:
    project.configure('[agents.other]\nbackend = "offline"')
    client = open_engine(home)
    project.configure('[agents.other]\nbackend = "nowhere"')
    task = client.sessions.ask(Draft(prompt="hello", agent="other"))
    client.close()
    done = await engine.wait(task.id, timeout=WITHIN)
    assert (done.state, done.latest.failure) == ("failed", "agent")
    assert "unknown backend 'nowhere'" in (done.latest.error or "")


@pytest.mark.spec("O14", "S16")
async def test_clearing_a_task_removes_its_conversation_and_its_commands(
    engine: TestEngine, home: Home
) -> None:
    task = await engine.answered("`echo marmalade`")
    assert len(engine.engine.list(Query(parent=f"task:{task.id}"))) == 1
    await engine.clear(task.id)
    assert engine.engine.store.sessions(limit=10) == []
    assert await engine.list() == []
    assert list(Path(home.runs).glob("[a-z]*")) == []


def _session(engine: TestEngine, task_id: str) -> Session:
    session = engine.engine.store.session(task_id)
    assert session is not None
    return session


def _calls(engine: TestEngine, task_id: str) -> int:
    agent = engine.engine.store.view(task_id).agent
    return 0 if agent is None else agent.tool_calls
