"""Dependencies: a task starts after all of them have completed, and never otherwise."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from errands.engine.engine import Engine
from errands.model.errors import BadValue, Cycle, NotFound
from errands.model.options.draft import Draft
from errands.ports.store import Query
from errands.testing.engines import TestEngine
from tests.engine.daemons import lines

WAITING = "echo ready; read line"


@pytest.mark.spec("L14")
async def test_a_task_starts_when_all_its_dependencies_have_completed(
    engine: TestEngine, tmp_path: Path
) -> None:
    story = tmp_path / "story"
    one = await engine.started(f"{WAITING}; echo one >> {story}", input="pipe")
    two = await engine.started(f"{WAITING}; echo two >> {story}", input="pipe")
    last = await engine.submit(f"echo last >> {story}", after=[one.id, two.id])
    assert (await engine.get(last.id)).details["waiting_for"] == [one.id, two.id]  # type: ignore[index]

    await engine.send(two.id, b"\n")
    await engine.wait(two.id)
    assert (await engine.get(last.id)).details["waiting_for"] == [one.id]  # type: ignore[index]
    await engine.send(one.id, b"\n")

    assert (await engine.wait(last.id)).state == "completed"
    assert lines(story) == ["two", "one", "last"]


@pytest.mark.spec("L14")
@pytest.mark.parametrize("command", ["exit 1", "kill -9 $$", ["no-such-program"]])
async def test_a_task_is_skipped_with_the_reason_when_a_dependency_fails(
    engine: TestEngine, tmp_path: Path, command: str
) -> None:
    first = await engine.started(WAITING, input="pipe")
    bad = await engine.submit(command, after=[first.id])
    last = await engine.submit(f"touch {tmp_path}/started", after=[first.id, bad.id])
    await engine.send(first.id, b"\n")
    skipped = await engine.wait(last.id)

    assert (skipped.state, skipped.task_state, skipped.latest.failure) == ("skipped", "failed", "dependency")
    assert skipped.latest.error == f"it waited for {bad.id} (failed)"
    assert not (tmp_path / "started").exists()


@pytest.mark.spec("L14")
async def test_a_skip_propagates_to_all_dependents_and_each_is_reported(engine: TestEngine) -> None:
    first = await engine.started(WAITING, input="pipe")
    chain = [first]
    for _ in range(4):
        chain.append(await engine.submit("true", after=[chain[-1].id]))
    await engine.cancel(first.id)
    ended = await engine.wait_all([task.id for task in chain])

    assert [task.state for task in ended] == ["cancelled", *["skipped"] * 4]
    reasons = [task.latest.error or "" for task in ended[1:]]
    assert all(before.id in reason for before, reason in zip(chain, reasons, strict=False))
    assert sorted(notice.run_id for notice in await engine.take_notices()) == sorted(
        task.latest.id for task in ended
    )


@pytest.mark.spec("L14")
async def test_cancelling_a_pending_task_skips_its_dependents_and_reports_each(
    engine: TestEngine,
) -> None:
    running = await engine.started(WAITING, input="pipe")
    pending = await engine.submit("true", after=[running.id])
    behind = await engine.submit("true", after=[pending.id])
    await engine.cancel(pending.id)

    assert [(await engine.get(task.id)).state for task in (pending, behind)] == ["cancelled", "skipped"]
    notices = await engine.take_notices()
    assert [(notice.run_id, notice.event) for notice in notices] == [
        (pending.latest.id, "cancelled"),
        (behind.latest.id, "skipped"),
    ]
    assert (await engine.get(running.id)).state == "running"


@pytest.mark.spec("L14")
async def test_a_completed_dependency_is_not_waited_for(engine: TestEngine) -> None:
    first = await engine.finished("true")
    assert (await engine.finished("true", after=[first.id])).state == "completed"


@pytest.mark.spec("L14")
async def test_a_failed_dependency_skips_a_new_task_at_once(engine: TestEngine) -> None:
    first = await engine.finished("false")
    task = await engine.submit("true", after=[first.id])

    assert (task.state, task.latest.error) == ("skipped", f"it waited for {first.id} (failed)")


@pytest.mark.spec("L14")
def test_a_cycle_is_refused_and_creates_nothing(client: Engine) -> None:
    with pytest.raises(Cycle, match="a -> b -> c -> a"):
        client.submit_all(
            [
                Draft(command="true", name="a", after=("b",)),
                Draft(command="true", name="b", after=("c",)),
                Draft(command="true", name="c", after=("a",)),
            ]
        )
    assert client.list(Query()) == []
    with pytest.raises(NotFound):
        client.submit(Draft(command="true", name="a", after=("a",)))


@pytest.mark.spec("L14")
async def test_drafts_of_one_call_may_depend_on_each_other_in_any_order(
    engine: TestEngine, tmp_path: Path
) -> None:
    story = tmp_path / "story"
    tasks = await engine.submit_all(
        [
            Draft(command=f"echo deploy >> {story}", name="deploy", after=("test", "build")),
            Draft(command=f"echo test >> {story}", name="test", after=("build",)),
            Draft(command=f"echo build >> {story}", name="build"),
        ]
    )
    await engine.wait_all([task.id for task in tasks])

    assert lines(story) == ["build", "test", "deploy"]
    assert [task.name for task in tasks] == ["deploy", "test", "build"]


@pytest.mark.spec("L12", "L14")
async def test_a_skipped_task_can_be_restarted_once_its_dependency_has_completed(
    engine: TestEngine, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    first = await engine.finished(f"test -e {flag}")
    task = await engine.submit("true", after=[first.id])
    assert (await engine.restart(task.id)).state == "skipped"
    flag.touch()
    await engine.restart(first.id)
    again = await engine.restart(task.id)

    assert again.state in ("pending", "running", "completed")
    assert (await engine.wait(task.id)).state == "completed"


@pytest.mark.spec("L12", "L14")
async def test_a_restart_does_not_wait_for_a_cleared_task(engine: TestEngine) -> None:
    first = await engine.finished("true")
    task = await engine.finished("true", after=[first.id])
    await engine.clear(first.id)
    await engine.restart(task.id)

    assert (await engine.wait(task.id)).state == "completed"


@pytest.mark.spec("L14")
async def test_a_dependency_named_twice_counts_once(engine: TestEngine) -> None:
    first = await engine.started(WAITING, input="pipe")
    task = await engine.submit("true", after=[first.id, first.id[:-1], first.id])
    await engine.send(first.id, b"\n")

    assert (await engine.wait(task.id)).state == "completed"


@pytest.mark.spec("L14")
def test_a_draft_that_would_wait_for_a_recurring_task_leaves_nothing_behind(client: Engine) -> None:
    recurring = client.submit(Draft(command="true", every=timedelta(hours=1)))

    [answer] = client.submit_each([Draft(command="echo hi", after=(recurring.id,))])

    assert isinstance(answer, BadValue)
    assert [view.id for view in client.list(Query())] == [recurring.id]
