"""Killed agents continue after the last call they finished, and do nothing twice."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial

import pytest

from errands.agents.offline import Offline
from errands.engine.agents.agent_main import answer
from errands.engine.agents.model_gate import ModelGate
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.ports.agent import Answer
from errands.ports.home import Home
from errands.ports.store import Query
from errands.runners.system import linux
from errands.testing.engines import WITHIN, TestEngine, until
from tests.engine.agent_project import Project, unhurried
from tests.engine.daemons import Daemons, eventually, finished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

THREE = "`./deed a` `./deed b 1` `./deed c`"


def process(engine: Engine, task_id: str) -> int:
    """Wait for the process of a task's run and return its pid."""
    eventually(lambda: engine.store.view(task_id).latest.pid is not None)
    return engine.store.view(task_id).latest.pid or 0


def waiting(engine: Engine, task_id: str) -> str | None:
    agent = engine.store.view(task_id).agent
    return None if agent is None else agent.waiting


@pytest.mark.spec("S14")
async def test_a_killed_agent_continues_and_repeats_nothing(engine: TestEngine, project: Project) -> None:
    task = await engine.ask(THREE, cwd=project.path)
    await until(lambda: "b" in project.deeds())
    await until(lambda: waiting(engine.engine, task.id) == "task")
    os.kill(await until(lambda: engine.engine.store.view(task.id).latest.pid or 0), signal.SIGKILL)
    killed_at = engine.engine.clock.now()
    done = await engine.wait(task.id, timeout=WITHIN)
    assert done.state == "completed"
    assert done.latest.attempt == 2
    assert project.deeds() == ["a", "b", "c"]
    assert done.agent is not None
    assert [f"did {each}" in (done.agent.answer or "") for each in "abc"] == [True] * 3
    assert (done.agent.tool_calls, done.agent.tools) == (3, ("command",) * 3)
    begun = [each for each in engine.engine.events(task.id) if each.name == "tool"]
    assert len(begun) == 3
    started, completed = done.latest.started_at, done.latest.completed_at
    assert started is not None
    assert completed is not None
    assert started < killed_at
    assert done.latest.elapsed == pytest.approx((completed - started).total_seconds(), abs=0.2)
    assert "output.1.log" in engine.engine.files(done.latest.id)


@pytest.mark.spec("S14", "L10")
async def test_an_agent_killed_while_waiting_for_approval_loses_none_of_its_time(
    engine: TestEngine, project: Project
) -> None:
    limit = 2 * await unhurried(engine)  # it starts twice
    task = await engine.ask("`touch ../x`", cwd=project.path, timeout=limit)
    await until(lambda: waiting(engine.engine, task.id) == "approval")
    await asyncio.sleep(limit)
    os.kill(engine.engine.store.view(task.id).latest.pid or 0, signal.SIGKILL)
    await until(lambda: engine.engine.store.view(task.id).latest.attempt == 2)
    (child,) = engine.engine.list(Query(states=("proposed",)))
    engine.engine.approve(child.id, by="ada", door="cli")
    assert (await engine.wait(task.id, timeout=WITHIN)).state == "completed"


class ClosingAgent(Offline):
    """An agent that checks, when it closes, whether its answer is stored."""

    def __init__(self, engine: Engine, run_id: str) -> None:
        super().__init__({})
        self._engine = engine
        self._run_id = run_id
        self.kept: str | None = None

    async def recover(self, session: str, text: str, context: AgentContext) -> Answer:
        return Answer(text="done")

    async def close(self) -> None:
        exchange = self._engine.store.exchange(self._run_id)
        self.kept = None if exchange is None else exchange.answer


@pytest.mark.spec("S14")
async def test_an_answer_is_stored_before_the_agent_closes(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`./deed a 60`", cwd=project.path)
    await until(lambda: waiting(engine.engine, task.id) == "task")
    agent = ClosingAgent(engine.engine, task.latest.id)
    with engine.engine.store:
        engine.engine.store.set_waiting(task.latest.id, None)
    assert await answer(engine.engine, task.latest.id, lambda _: agent) == 0
    assert agent.kept == "done"


@pytest.mark.spec("S14")
async def test_an_agent_that_keeps_dying_fails_with_that_reason(engine: TestEngine, project: Project) -> None:
    task = await engine.ask("`./deed a 60`", cwd=project.path)
    for attempt in (1, 2, 3):
        os.kill(await until(partial(_in, engine, task.id, attempt)), signal.SIGKILL)
    done = await engine.wait(task.id, timeout=WITHIN)
    assert (done.state, done.latest.failure) == ("failed", "agent")
    assert "died 3 times" in (done.latest.error or "")
    assert project.deeds() == ["a"]


def _in(engine: TestEngine, task_id: str, attempt: int) -> int:
    latest = engine.engine.store.view(task_id).latest
    alive = latest.pid is not None and os.path.exists(f"/proc/{latest.pid}")
    waits = engine.engine.store.exchange(latest.id)
    is_at_work = waits is not None and waits.waiting == "task"
    return latest.pid or 0 if latest.attempt == attempt and alive and is_at_work else 0


@pytest.mark.spec("S14", "L20")
def test_an_agent_outlives_the_daemon(client: Engine, daemons: Daemons, project: Project) -> None:
    daemons.start()
    task = client.submit(Draft(prompt=THREE, cwd=project.path))
    eventually(lambda: "b" in project.deeds())
    os.kill(daemons.pid, signal.SIGKILL)
    daemons.start()
    done = finished(client, task.id)
    assert done.state == "completed"
    assert done.latest.attempt == 1
    assert project.deeds() == ["a", "b", "c"]


@pytest.mark.spec("S14", "L20")
def test_daemon_and_agent_killed_together_repeat_nothing(
    client: Engine, daemons: Daemons, project: Project, home: Home
) -> None:
    daemons.start()
    task = client.submit(Draft(prompt=THREE, cwd=project.path))
    agent = process(client, task.id)
    eventually(lambda: "b" in project.deeds())
    os.kill(daemons.pid, signal.SIGKILL)
    os.kill(agent, signal.SIGKILL)
    daemons.start()
    done = finished(client, task.id)
    assert done.state == "completed"
    assert project.deeds() == ["a", "b", "c"]


@pytest.mark.spec("S14", "S3")
@pytest.mark.fault("F41")
def test_a_resume_that_is_killed_is_still_answered(
    client: Engine, daemons: Daemons, project: Project
) -> None:
    daemons.start()
    task = client.submit(Draft(prompt="`true`", cwd=project.path))
    finished(client, task.id)
    client.sessions.resume(task.id, THREE)
    eventually(lambda: "b" in project.deeds())
    os.kill(process(client, task.id), signal.SIGKILL)
    os.kill(daemons.pid, signal.SIGKILL)
    daemons.start()
    done = finished(client, task.id)
    assert done.state == "completed"
    assert project.deeds() == ["a", "b", "c"]
    assert [each.text for _, each in client.sessions.conversation(task.id)] == ["`true`", THREE]


@pytest.mark.spec("S14")
def test_a_killed_shim_ends_its_agent_and_the_next_attempt_continues(
    client: Engine, daemons: Daemons, project: Project
) -> None:
    daemons.start()
    task = client.submit(Draft(prompt=THREE, cwd=project.path))
    agent = process(client, task.id)
    eventually(lambda: "b" in project.deeds())
    os.kill(linux.ancestors(agent)[0], signal.SIGKILL)
    done = finished(client, task.id)
    assert done.state == "completed"
    assert project.deeds() == ["a", "b", "c"]


@pytest.mark.spec("L5", "L20")
def test_a_new_daemon_does_not_give_away_a_slot_that_an_agent_has(
    client: Engine, daemons: Daemons, project: Project, home: Home
) -> None:
    project.configure("[lanes]\nlocal = 1")
    daemons.start()
    one = client.submit(Draft(prompt="`./deed a 2`", cwd=project.path, lane="local"))
    eventually(lambda: waiting(client, one.id) == "task")
    with ModelGate(home.path):
        other = client.submit(Draft(prompt="`./deed b`", cwd=project.path, lane="local"))
        eventually(lambda: waiting(client, other.id) == "turn")
        eventually(lambda: waiting(client, one.id) == "slot")
        os.kill(daemons.pid, signal.SIGKILL)
        daemons.start()
        marker = client.submit(Draft(command="true"))
        assert finished(client, marker.id).state == "completed"
        assert waiting(client, one.id) == "slot"
    assert finished(client, one.id).state == "completed"
    assert finished(client, other.id).state == "completed"
