"""Queue control: tasks are paused, held, moved and edited, and lanes change their width at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.errors import BadValue, IllegalMove
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.runners.system import linux
from errands.testing.engines import TestEngine, embedded, until
from tests.engine.daemon.test_recovery import SUPERVISOR, started
from tests.engine.daemons import Daemons, eventually, finished, lines

WAITING = "echo ready; read line; echo went on"


@pytest.fixture
async def woken(home: Home) -> AsyncIterator[TestEngine]:
    """An engine with one slot that does not look by itself: what happens was caused by an event."""
    async with embedded(home.path, **{"daemon.tick": "1h", "lanes.shell": "1"}) as engine:
        yield engine


def stopped(run_id: str) -> bool:
    """Return whether every process of a run stands still."""
    found = linux.marked("ERRANDS_RUN_ID", run_id)
    return bool(found) and all(linux.activity(pid) != "active" for pid in found)


@pytest.mark.spec("L28")
async def test_a_paused_task_stands_still_until_it_continues(woken: TestEngine) -> None:
    task = await woken.started(WAITING, input="pipe")
    paused = await woken.pause(task.id, by="ada")

    assert (paused.state, paused.is_paused) == ("running", True)
    await until(lambda: woken.engine.queue.has_settled(woken.engine.view(task.id)))
    assert stopped(task.latest.id)
    await woken.send(task.id, b"\n")
    await woken.finished("true", lane="local")  # the daemon has looked since
    assert (await woken.get(task.id)).is_paused
    assert (await woken.pause(task.id)).is_paused  # asked twice

    assert not (await woken.unpause(task.id)).is_paused
    ended = await woken.wait(task.id)

    assert ended.state == "completed"
    assert await woken.text(task.id) == "ready\nwent on\n"
    names = [event.name for event in await woken.events(task.id)]
    assert names.index("paused") < names.index("continued") < names.index("completed")
    assert ended.latest.paused_for > 0


@pytest.mark.spec("L28")
async def test_a_paused_task_needs_no_slot_and_continues_even_if_its_lane_is_full(woken: TestEngine) -> None:
    first = await woken.started(WAITING, input="pipe")
    second = await woken.submit(WAITING, input="pipe")
    assert second.state == "pending"
    await woken.pause(first.id)
    await woken.printed(second.id, "ready")
    third = await woken.submit("true")

    await woken.unpause(first.id)
    await woken.send(first.id, b"\n")
    assert (await woken.wait(first.id)).state == "completed"
    assert (await woken.get(third.id)).state == "pending"  # the second one still has the slot

    await woken.send(second.id, b"\n")
    assert (await woken.wait(third.id)).state == "completed"


@pytest.mark.spec("L28")
async def test_a_paused_task_can_be_cancelled(woken: TestEngine) -> None:
    task = await woken.started("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done")
    await woken.pause(task.id)
    await until(lambda: stopped(task.latest.id))
    await woken.cancel(task.id)

    ended = await woken.wait(task.id)
    assert ended.state == "cancelled"
    assert "bye" in await woken.text(task.id)
    with pytest.raises(IllegalMove, match="nothing to pause"):
        await woken.pause(task.id)
    with pytest.raises(IllegalMove, match="nothing to hold"):
        await woken.hold(task.id)


async def test_silence_is_not_reported_while_a_task_is_paused(home: Home) -> None:
    async with embedded(home.path) as engine:
        task = await engine.started(WAITING, input="pipe", idle="2s", on_idle="report")
        await engine.pause(task.id)
        await until(lambda: stopped(task.latest.id))
        quiet = await engine.started(WAITING, input="pipe", idle="2s", on_idle="report")
        await until(lambda: "silent" in [event.name for event in engine.engine.events(quiet.id)])
        assert "silent" not in [event.name for event in await engine.events(task.id)]

        await engine.unpause(task.id)
        await until(lambda: "silent" in [event.name for event in engine.engine.events(task.id)])


async def test_a_running_agent_cannot_be_paused_but_a_pending_one_is_held(woken: TestEngine) -> None:
    await woken.set_lane("local", 0)
    pending = await woken.ask("run `true`", agent="offline", lane="local")
    assert (await woken.pause(pending.id)).is_held
    await woken.set_lane("local", None)
    await woken.unpause(pending.id)
    await woken.wait(pending.id)
    busy = await woken.ask("run `sleep 1000`", agent="offline")
    await until(lambda: woken.engine.view(busy.id).latest.state == "running")
    with pytest.raises(IllegalMove, match=r"running agent cannot be paused.*commands"):
        await woken.pause(busy.id)


async def test_the_run_of_a_recurring_task_can_be_paused_and_its_schedule_goes_on(woken: TestEngine) -> None:
    task = await woken.submit(WAITING, input="pipe", every="1h")
    await woken.fire(task.id)
    await woken.printed(task.id, "ready")
    run = (await woken.get(task.id)).latest.id

    paused = await woken.pause(task.id, run=True)
    assert (paused.state, paused.is_paused) == ("active", True)
    await until(lambda: stopped(run))
    await woken.unpause(task.id, run=True)
    await until(lambda: not stopped(run))
    assert (await woken.pause(task.id)).state == "paused"


# Crashes.


@pytest.mark.spec("L28", "L20")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_pause_is_carried_out_by_the_next_daemon(daemons: Daemons, client: Engine, when: str) -> None:
    daemons.start_doomed("errands.runners.pool.pool.ShimPool.pause", when)
    task = started(client, "echo ready; sleep 1000")
    assert client.queue.pause(task.id).is_paused
    daemons.wait_for_doom()
    daemons.start()

    eventually(lambda: stopped(task.latest.id))
    assert client.get(task.id).is_paused
    client.cancel([task.id])
    assert finished(client, task.id).state == "cancelled"


@pytest.mark.spec("L28")
def test_a_task_unpaused_without_a_daemon_is_continued_by_the_next_one(
    daemons: Daemons, client: Engine
) -> None:
    daemons.start()
    task = started(client, WAITING)
    client.queue.pause(task.id)
    eventually(lambda: stopped(task.latest.id))
    daemons.kill()
    client.queue.unpause(task.id)
    daemons.start()

    eventually(lambda: not stopped(task.latest.id))
    client.send(task.id, b"\n")
    assert finished(client, task.id).state == "completed"


@pytest.mark.spec("L28", "L20")
@pytest.mark.parametrize("place", ["pool.pause", "want_pause"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_paused_task_is_continued_by_the_next_daemon(
    daemons: Daemons, client: Engine, place: str, when: str
) -> None:
    daemons.start()
    task = started(client, WAITING)
    client.queue.pause(task.id)
    eventually(lambda: stopped(task.latest.id))
    daemons.kill()
    places = {
        "pool.pause": "errands.runners.pool.pool.ShimPool.pause",
        "want_pause": "errands.ports.rundir.want_pause",
    }
    client.queue.unpause(task.id)
    daemons.start_doomed(places[place], when)
    daemons.wait_for_doom()
    daemons.start()
    client.send(task.id, b"\n")

    ended = finished(client, task.id)
    assert ended.state == "completed"
    assert client.output(task.id).content == b"ready\nwent on\n"


@pytest.mark.spec("L28", "L20")
def test_a_task_paused_without_a_daemon_stays_paused_through_two(daemons: Daemons, client: Engine) -> None:
    daemons.start()
    task = started(client, WAITING)
    daemons.kill()
    client.queue.pause(task.id)
    daemons.start()
    eventually(lambda: stopped(task.latest.id))
    daemons.kill()
    daemons.start()
    assert stopped(task.latest.id)
    client.queue.unpause(task.id)
    client.send(task.id, b"\n")

    assert finished(client, task.id).state == "completed"


@pytest.mark.spec("L28", "L20")
def test_a_task_paused_between_claim_and_spawn_starts_paused(
    daemons: Daemons, client: Engine, tmp_path: Path
) -> None:
    daemons.start_doomed(f"{SUPERVISOR}.start")
    task = client.submit(Draft(command=f"echo start >> {tmp_path}/witness", consent="yes"))
    daemons.wait_for_doom()
    assert client.queue.pause(task.id).is_paused
    daemons.start()
    eventually(lambda: client.queue.has_settled(client.view(task.id)))
    assert lines(tmp_path / "witness") == []

    client.queue.unpause(task.id)
    assert finished(client, task.id).state == "completed"
    assert lines(tmp_path / "witness") == ["start"]


# Holding, moving.


@pytest.mark.spec("L28")
async def test_a_held_task_starts_only_after_its_release(woken: TestEngine) -> None:
    task = await woken.submit("echo done", hold=True)
    assert (task.state, task.is_held) == ("pending", True)
    await woken.finished("true")
    assert (await woken.get(task.id)).is_held
    assert (await woken.hold(task.id)).is_held

    await woken.release(task.id)
    assert (await woken.wait(task.id)).state == "completed"
    with pytest.raises(BadValue, match="hold is for a task that runs once"):
        await woken.submit("true", hold=True, every="1h")


async def test_a_running_task_is_not_held(woken: TestEngine) -> None:
    task = await woken.started(WAITING, input="pipe")
    with pytest.raises(IllegalMove, match="errands pause"):
        await woken.hold(task.id)
    await woken.pause(task.id)
    with pytest.raises(IllegalMove, match="errands unpause"):
        await woken.release(task.id)


async def test_a_held_proposal_needs_both_an_approval_and_its_release(asking: Engine, harm: Draft) -> None:
    task = asking.submit(harm)
    assert asking.queue.hold(task.id).is_held
    approved = asking.approve(task.id, by="ada", door="python")
    assert (approved.state, approved.is_held) == ("pending", True)
    assert not asking.queue.release(task.id).is_held


@pytest.mark.spec("L28")
async def test_a_pending_task_is_moved_in_its_lane(woken: TestEngine, tmp_path: Path) -> None:
    gate = await woken.started(WAITING, input="pipe")
    order = tmp_path / "order"
    a, b, c, d = [await woken.submit(f"echo {name} >> {order}", name=name) for name in "abcd"]

    await woken.move(d.id)
    await woken.move(a.id, last=True)
    await woken.move(c.id, before=b.id)
    assert woken.engine.queue.order("shell") == [d.id, c.id, b.id, a.id]
    with pytest.raises(IllegalMove, match="only a pending task can be moved"):
        await woken.move(gate.id)
    with pytest.raises(BadValue, match="before itself"):
        await woken.move(a.id, before=a.id)

    await woken.send(gate.id, b"\n")
    await woken.wait_all([a.id, b.id, c.id, d.id])
    assert lines(order) == ["d", "c", "b", "a"]


# Lanes.


@pytest.mark.spec("L28")
async def test_the_width_of_a_lane_changes_at_once(woken: TestEngine) -> None:
    tasks = [await woken.submit(WAITING, input="pipe") for _ in range(3)]
    await woken.printed(tasks[0].id, "ready")
    lane = await woken.set_lane("shell", 3, by="ada")
    for task in tasks:
        await woken.printed(task.id, "ready")
    assert (lane.width, lane.configured, lane.set_by) == (3, 1, "ada")

    await woken.set_lane("shell", 0)
    queued = await woken.submit("true")
    for task in tasks:
        await woken.send(task.id, b"\n")
        await woken.wait(task.id)
    await woken.finished("true", lane="local")
    assert (await woken.get(queued.id)).state == "pending"
    assert (await woken.set_lane("shell", None)).width == 1
    assert (await woken.wait(queued.id)).state == "completed"


@pytest.mark.spec("L28")
def test_the_width_of_a_lane_lasts(daemons: Daemons, client: Engine, home: Home) -> None:
    daemons.start()
    client.queue.set_lane("shell", 1)
    first = started(client, WAITING)
    daemons.kill()
    second = client.submit(Draft(command="true", consent="yes"))
    daemons.start()
    other = open_engine(home)
    try:
        assert {each.name: each.width for each in other.queue.lanes()}["shell"] == 1
    finally:
        other.close()
    local = client.submit(Draft(command="true", lane="local", consent="yes"))
    finished(client, local.id)
    assert client.get(second.id).state == "pending"
    client.send(first.id, b"\n")
    finished(client, second.id)


async def test_a_new_lane_can_be_used_at_once(woken: TestEngine) -> None:
    with pytest.raises(BadValue, match="errands lane gpu 2"):
        await woken.submit("true", lane="gpu")
    await woken.set_lane("gpu", 2)
    assert (await woken.finished("true", lane="gpu")).state == "completed"
    for name, width in (("9x", 1), ("gpu", -1), ("gpu", 10**9)):
        with pytest.raises(BadValue):
            await woken.set_lane(name, width)
