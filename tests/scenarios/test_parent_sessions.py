"""The tasks of a session are kept while its frontend comes back, and for the usual time after that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from errands.bootstrap import SystemClock, open_engine
from errands.engine.daemon.janitor import Janitor
from errands.frontends.toolset import BackgroundToolset
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import WITHIN, TestEngine, until
from tests.engine.agent_project import Project
from tests.engine.daemons import Daemons, eventually
from tests.frontends.chat.window import END, Window
from tests.frontends.cli.person import Person
from tests.frontends.mcp.conversation import call, connected
from tests.frontends.mcp.process import Served
from tests.frontends.toolset.stage import Script
from tests.scenarios.placing import Placing

pytestmark = pytest.mark.spec("S16")

Pass = Callable[..., None]


@pytest.fixture
def time_passes(monkeypatch: pytest.MonkeyPatch) -> Pass:
    """Return a function that lets time pass for every engine of this process."""
    passed = timedelta()

    def let_pass(**span: float) -> None:
        nonlocal passed
        passed += timedelta(**span)

    monkeypatch.setattr(SystemClock, "now", lambda _: datetime.now(UTC) + passed)
    return let_pass


async def sweep(engine: TestEngine) -> None:
    """Remove what has expired by now, as the daemon does."""
    core = engine.engine
    janitor = Janitor(core.store, core.home, core.config, core.clock)
    while await janitor.sweep():
        pass


async def ids(engine: TestEngine) -> set[str]:
    return {view.id for view in await engine.list()}


async def launched_by_mcp(engine: TestEngine, session: str) -> str:
    """Run a command to its end, for a client that then disconnects."""
    async with connected(engine, session=session) as client:
        task_id: str = (await call(client, "run", command="echo done")).structured_content["id"]
    await engine.wait(task_id, timeout=WITHIN)
    return task_id


@pytest.mark.spec("O13")
async def test_the_tasks_of_an_mcp_client_are_kept_while_it_comes_back(
    engine: TestEngine, time_passes: Pass
) -> None:
    back = await launched_by_mcp(engine, "comes back")
    await launched_by_mcp(engine, "never comes back")
    for _ in range(3):
        time_passes(days=5)
        async with connected(engine, session="comes back") as client:
            await call(client, "tasks")
        await sweep(engine)
    assert await ids(engine) == {back}
    time_passes(days=6, hours=23)
    await sweep(engine)
    assert await ids(engine) == {back}
    time_passes(hours=2)
    await sweep(engine)
    assert await ids(engine) == set()


async def test_a_running_task_outlives_its_session(engine: TestEngine, time_passes: Pass) -> None:
    async with connected(engine, session="gone") as client:
        task_id = (await call(client, "run", command="sleep 600")).structured_content["id"]
    time_passes(days=400)
    await sweep(engine)
    assert (await engine.get(task_id)).is_live


def test_a_client_that_stays_connected_is_there_although_it_calls_nothing(
    daemons: Daemons, tmp_path: Path, home: Home
) -> None:
    engine = open_engine(home)
    try:
        # What counts as there is a tenth of the retention time.
        with Served(tmp_path, ERRANDS_RETENTION_KEEP="2s") as server:
            task_id = server.call("run", command="true")["structuredContent"]["id"]
            eventually(lambda: engine.store.ended(task_id))
            after_the_call = engine.clock.now()
            assert engine.store.expired_tasks(before=after_the_call, limit=9) == [task_id]
            eventually(lambda: engine.store.expired_tasks(before=after_the_call, limit=9) == [])
    finally:
        engine.close()


async def test_a_conversation_of_pydantic_ai_keeps_its_tasks_while_it_goes_on(
    engine: TestEngine, time_passes: Pass
) -> None:
    toolset = BackgroundToolset(engine, session="conversation")
    await Script(("run", {"command": "echo done"})).agent(toolsets=[toolset]).run("go")
    (task,) = await engine.list()
    await engine.wait(task.id, timeout=WITHIN)
    time_passes(days=8)
    await Script(("tasks", {})).agent(toolsets=[toolset]).run("and?")
    await sweep(engine)
    assert await ids(engine) == {task.id}
    await engine.end_session("conversation")
    await sweep(engine)
    assert await ids(engine) == set()


def test_leaving_a_chat_ends_its_session_and_coming_back_reopens_it(tmp_path: Path) -> None:
    person = Person(tmp_path / "home", tmp_path)
    said = person.types("chat", "--agent", "offline", given="/background echo done").out
    task_id = said.split()[1].rstrip(":")
    person.types("wait", "-q", task_id)
    engine = open_engine(Home(path=str(person.home)))
    end = engine.clock.now()
    window = None

    def expired() -> list[str]:
        return engine.store.expired_tasks(before=end, limit=9)

    try:
        assert expired() == [task_id]
        window = Window(person, "--continue")
        eventually(lambda: expired() == [])
        window.until(lambda: window.line == ">", "a line to type at")
        window.types(END)
        eventually(lambda: expired() == [task_id])
    finally:
        if window is not None:
            window.close()
        engine.close()
        person.leaves()


@pytest.mark.spec("O13")
async def test_an_agent_without_a_session_is_removed_with_its_commands(
    engine: TestEngine, time_passes: Pass, placed: Placing | None
) -> None:
    task = await engine.answered("`echo one` `echo two`")
    commands = engine.engine.list(Query(parent=f"task:{task.id}"))
    count = 2 if placed is None else 0  # else its host has them
    assert [view.agent_task for view in commands] == [task.id] * count
    time_passes(days=6, hours=23)
    await sweep(engine)
    assert len(await ids(engine)) == 1 + count
    time_passes(hours=2)
    await sweep(engine)
    assert await ids(engine) == set()


async def test_the_commands_of_earlier_runs_of_a_recurring_agent_do_not_pile_up(
    engine: TestEngine, project: Project, time_passes: Pass, placed: Placing | None
) -> None:
    task = await engine.ask("`echo one`", every="1000d")
    for number in range(3):
        await engine.fire(task.id)
        await until(lambda n=number: _ended(engine, task.id, n + 1))  # type: ignore[misc]
    time_passes(days=8)
    await sweep(engine)
    left = [each.created_by for each in engine.engine.list(Query(parent=f"task:{task.id}"))]
    assert left == ([f"run {task.id}.3"] if placed is None else [])  # else its host has them
    assert (await engine.get(task.id)).state == "active"


def _ended(engine: TestEngine, task_id: str, number: int) -> bool:
    latest = engine.engine.store.view(task_id).latest
    return latest.number == number and latest.completed_at is not None
