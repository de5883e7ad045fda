"""Cancelling: anything that has not ended can be ended, completely and exactly once."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.errors import ErrandsError, IllegalMove
from errands.model.options.draft import Draft
from errands.model.states import ENDED
from errands.ports.home import Home
from errands.runners.system import linux
from errands.testing.engines import WITHIN, TestEngine, embedded, until
from tests.engine.daemons import lines
from tests.samples import moves

ENDLESS = "echo ready; sleep 1000"
# A child, a grandchild that left the session, and an orphan; their pids are printed.
FAMILY = """
sleep 1000 & echo $!
setsid sleep 1000 & echo $!
(setsid sh -c 'echo $$; exec sleep 1000' &)
echo $$
echo ready; wait
"""


@pytest.mark.spec("L9")
@pytest.mark.trap(17)
async def test_a_cancelled_task_leaves_no_process_behind(engine: TestEngine) -> None:
    task = await engine.started(FAMILY)
    pids = await until(lambda: _pids(engine, task.id, 4))
    await engine.cancel(task.id)
    ended = await engine.wait(task.id)

    assert (ended.state, ended.latest.signal) == ("cancelled", 15)
    assert [pid for pid in pids if linux.is_alive(pid)] == []


@pytest.mark.spec("L9")
async def test_a_task_that_ignores_sigterm_is_killed_after_its_grace_period(engine: TestEngine) -> None:
    task = await engine.started("trap '' TERM; echo ready; while :; do sleep 1000; done", grace=0.2)
    await engine.cancel(task.id)
    ended = await engine.wait(task.id)

    assert (ended.state, ended.latest.signal) == ("cancelled", 9)


@pytest.mark.spec("L9")
async def test_a_grace_period_of_zero_is_respected(home: Home) -> None:
    async with embedded(home.path, **{"runs.grace": "1h"}) as engine:
        task = await engine.started("trap '' TERM; echo ready; while :; do sleep 1000; done", grace=0)
        await engine.cancel(task.id)
        ended = await engine.wait(task.id, timeout=WITHIN)

    assert (ended.state, ended.latest.signal) == ("cancelled", 9)


@pytest.mark.spec("L9")
async def test_a_pending_task_is_cancelled_without_ever_starting(home: Home, tmp_path: Path) -> None:
    async with embedded(home.path, **{"lanes.shell": "1"}) as engine:
        first = await engine.started("echo ready; read line", input="pipe")
        waiting = await engine.submit(f"touch {tmp_path}/started")
        [cancelled] = await engine.cancel(waiting.id)
        await engine.send(first.id, b"\n")
        await engine.wait(first.id)
        await engine.finished("true")

        assert cancelled.state == "cancelled"
        assert cancelled.latest.started_at is None
        assert not (tmp_path / "started").exists()


@pytest.mark.spec("L9")
@pytest.mark.trap(19)
async def test_a_task_can_be_cancelled_whatever_it_waits_for(home: Home) -> None:
    async with embedded(home.path, **{"lanes.later": "0"}) as engine:
        running = await engine.started(ENDLESS)
        tasks = [
            running,
            await engine.submit("true", lane="later"),
            await engine.submit("true", after=[running.id]),
            await engine.submit("true", at=datetime.now(UTC) + timedelta(hours=1)),
        ]
        await engine.cancel(*[task.id for task in reversed(tasks)])
        ended = await engine.wait_all([task.id for task in tasks])

        assert [task.state for task in ended] == ["cancelled"] * 4
        assert [task.task_state for task in ended] == ["cancelled"] * 4


@pytest.mark.spec("L7", "L9")
async def test_a_running_task_is_cancelling_from_the_request_to_its_end(engine: TestEngine) -> None:
    polite = "trap 'echo asked; read line; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    task = await engine.started(polite, input="pipe", grace=20)
    [asked] = await engine.cancel(task.id)

    assert asked.is_cancelling
    assert asked.state == "running"
    await engine.printed(task.id, "asked")
    await engine.send(task.id, b"\n")
    ended = await engine.wait(task.id)
    assert (ended.state, ended.is_cancelling) == ("cancelled", False)


@pytest.mark.spec("L9")
@pytest.mark.fault("F39")
async def test_a_hundred_cancels_at_once_count_as_one(engine: TestEngine, home: Home) -> None:
    task = await engine.started(ENDLESS)

    def cancel_ten_times(_: int) -> list[str]:
        other = open_engine(home)
        states = [other.cancel([task.id])[0].state for _ in range(10)]
        other.close()
        return states

    with ThreadPoolExecutor(10) as pool:
        answers = [state for states in pool.map(cancel_ten_times, range(10)) for state in states]
    ended = await engine.wait(task.id)

    assert set(answers) <= {"running", "cancelled"}
    assert ended.state == "cancelled"
    assert moves(await engine.events(task.id)) == [
        "queued", "started", "stop requested", "cancelled",
    ]  # fmt: skip
    assert len(await engine.take_notices()) == 1


@pytest.mark.spec("L7")
@pytest.mark.fault("F40")
@pytest.mark.trap(18)
async def test_a_cancel_that_races_with_the_end_leads_to_exactly_one_ending(engine: TestEngine) -> None:
    async def let_go(task_id: str) -> None:
        with suppress(ErrandsError):  # it takes no more input once the cancel has won
            await engine.send(task_id, b"\n")

    for number in range(30):
        task = await engine.started("echo ready; read line; exit 7", input="pipe")
        acts = [engine.cancel(task.id), let_go(task.id)]
        await asyncio.gather(*(acts if number % 2 else reversed(acts)))
        ended = await engine.wait(task.id)
        ends = [event.name for event in await engine.events(task.id) if event.name in ENDED]

        assert ends == [ended.state]
        assert (ended.state == "failed") == (ended.latest.exit_code == 7 and ended.latest.failure == "exit")
        assert ended.state in ("cancelled", "failed")


@pytest.mark.fault("F40")
async def test_cancelling_an_ended_task_returns_its_ending_and_changes_nothing(engine: TestEngine) -> None:
    task = await engine.get((await engine.finished("exit 3")).id)
    [answer] = await engine.cancel(task.id)

    assert (answer.state, answer.latest.exit_code) == ("failed", 3)
    assert await engine.get(task.id) == task
    assert "stop requested" not in moves(await engine.events(task.id))


async def test_a_cancelled_run_says_who_cancelled_it(engine: TestEngine) -> None:
    running, waiting = await engine.started(ENDLESS), await engine.submit("true", lane="local", after=[])
    await engine.wait(waiting.id)
    engine.engine.cancel([running.id], by="ada")
    ended = await engine.wait(running.id)

    assert ended.latest.error == "stopped by ada"


async def test_only_a_running_task_can_be_stopped(engine: TestEngine) -> None:
    running = await engine.started(ENDLESS)
    waiting = await engine.submit("true", after=[running.id])
    with pytest.raises(IllegalMove, match="is pending; only a running one can be stopped"):
        engine.engine.stop(waiting.id)
    engine.engine.stop(running.id)

    assert (await engine.wait(running.id)).state == "cancelled"


@pytest.mark.trap(30)
async def test_a_task_that_kills_its_parent_harms_no_other_task(engine: TestEngine) -> None:
    sibling = await engine.started("echo ready; read line; echo still here", input="pipe")
    task = await engine.finished("kill -9 $PPID; echo done")

    assert (task.state, task.latest.failure) == ("failed", "lost")
    await engine.send(sibling.id, b"\n")
    assert (await engine.wait(sibling.id)).state == "completed"
    assert (await engine.finished("true")).state == "completed"


def test_a_cancel_needs_no_daemon(client: Engine, tmp_path: Path) -> None:
    task = client.submit(Draft(command=f"echo started >> {tmp_path}/witness"))
    assert client.cancel([task.id])[0].state == "cancelled"
    assert lines(tmp_path / "witness") == []


def _pids(engine: TestEngine, task_id: str, count: int) -> list[int]:
    words = engine.engine.output(task_id).content.decode().split()
    numbers = [int(word) for word in words if word.isdecimal()]
    return numbers if len(numbers) == count else []


def test_this_process_counts_as_alive() -> None:
    assert linux.is_alive(os.getpid())
