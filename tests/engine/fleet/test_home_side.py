"""The home side with many runs: several are offered or recorded at once, and a cancellation does not wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from errands.engine.daemon.dispatcher import Dispatcher
from errands.engine.fleet import home_side
from errands.engine.fleet.home_side import AT_ONCE
from errands.engine.task_facts import task_facts
from errands.model.options.draft import Draft
from errands.ports.fleet import HostFacts, placement
from errands.ports.runner import Alive
from errands.runners.output.mirror import Mirror
from errands.runners.pool.fleet_runner import FleetRunner
from errands.testing.engines import until
from errands.text import Look
from tests.engine.daemon.quiet_runner import QuietRunner
from tests.engine.fleet.laptop import MANY, Laptop

if TYPE_CHECKING:
    from datetime import datetime

    from errands.model.run import Run
    from errands.model.task import Task
    from errands.ports.fleet import PlacedView

pytestmark = pytest.mark.spec("X12")

HOST = HostFacts(id="h2", name="big", labels=(), slots=MANY, version="0", boot="b")


async def test_many_runs_are_offered_a_few_at_once_and_in_order(laptop: Laptop) -> None:
    views = await laptop.place(MANY)

    await laptop.side.work()

    assert await laptop.offered() == [view.id for view in views]
    assert laptop.fleet.offers == [AT_ONCE] * 3
    assert not laptop.side.is_behind


async def test_placed_runs_are_claimed_many_at_once_and_those_of_this_host_as_lanes_have_room(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = laptop.engine.engine
    engine.queue.set_lane("shell", 2)
    most: list[int] = []
    claim = Dispatcher.claim

    def counted(self: Dispatcher, *, now: datetime) -> list[tuple[Task, Run]]:
        found = claim(self, now=now)
        most.append(len(found))
        return found

    monkeypatch.setattr(Dispatcher, "claim", counted)
    here = [Draft(command=("sleep", "1000"), name=f"here{n}") for n in range(4)]
    away = [Draft(command=("true",), host="big", name=f"deed{n}") for n in range(MANY)]
    views = await laptop.engine.submit_all([here[0], *away, *here[1:]])

    await until(lambda: all(placement.read(engine.home.run(each.latest.id)) for each in views[1:-3]))

    assert max(most) > 20
    await until(lambda: engine.counts()["running"] == MANY + 2)
    assert engine.counts()["pending"] == 2


async def test_the_daemon_looks_only_at_the_runs_that_it_is_told_of(laptop: Laptop) -> None:
    views = await laptop.place(3)
    runner = FleetRunner(QuietRunner(), laptop.engine.engine.home.runs)
    reported: list[str] = []
    runner.listener = lambda report: reported.append(report.run_id)
    for view in views:
        run_id = view.latest.id
        assert isinstance(runner.recover(run_id, attempt=1), Alive)
        mirror = Mirror(laptop.engine.engine.home.run(run_id), run_id, attempt=1, header=b"# x\n\n", cap=1000)
        mirror.finish({"code": "0"})

    runner.look([views[1].id, "unknown"])
    assert reported == [views[1].latest.id]
    runner.look(None)

    assert sorted(reported) == sorted(view.latest.id for view in views)


async def test_a_home_without_placed_runs_asks_for_results_only_if_there_may_be_some(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    results = laptop.fleet.results

    async def counted(home: str) -> list[PlacedView]:
        asked.append(home)
        return await results(home)

    monkeypatch.setattr(laptop.fleet, "results", counted)
    for _ in range(3):
        await laptop.side.work()
    assert len(asked) == 1
    laptop.side.has_news = True

    await laptop.side.work()

    assert len(asked) == 2


async def test_a_cancellation_does_not_wait_for_all_that_is_to_be_offered(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home_side, "OFFERING", -1.0)  # no time for more than one call
    views = await laptop.place(MANY)
    laptop.engine.engine.cancel([views[-1].id])

    await laptop.side.work()

    behind = [laptop.side.is_behind]
    assert await laptop.offered() == [views[-1].id, *(view.id for view in views[: AT_ONCE - 1])]
    assert [each.task for each in await laptop.fleet.placed(limit=MANY) if each.outcome] == [views[-1].id]
    for _ in range(2):
        await laptop.side.work()
        behind.append(laptop.side.is_behind)
    assert behind == [True, True, False]
    assert sorted(await laptop.offered()) == sorted(view.id for view in views)


async def test_the_daemon_is_told_of_many_ends_a_few_times(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await laptop.place(MANY)
    await laptop.side.work()
    lease = await laptop.fleet.join(HOST)
    runs = laptop.fleet.taken(host=HOST)
    for _ in range(MANY):
        taken = await anext(runs)
        assert await laptop.fleet.finish(
            taken.number, attempt=taken.attempt, host=HOST.id, epoch=lease.epoch, outcome={"code": 0}
        )
    await runs.aclose()  # type: ignore[attr-defined]
    rung: list[int] = []
    ring = laptop.engine.engine.bell.ring_about

    def count(tasks: Sequence[str]) -> None:
        rung.append(len(tasks))
        ring(tasks)

    monkeypatch.setattr(laptop.engine.engine.bell, "ring_about", count)

    await laptop.side.work()

    assert rung == [AT_ONCE] * 3
    await until(lambda: not laptop.engine.engine.running())
    assert {view.state for view in await laptop.engine.list()} == {"completed"}


async def test_a_task_says_which_host_was_lost_with_its_run(laptop: Laptop) -> None:
    engine, fleet, side = laptop.engine.engine, laptop.fleet, laptop.side
    [view] = await laptop.place(1, on_loss="again")
    await side.work()
    lease = await fleet.join(HOST)
    runs = fleet.taken(host=HOST)
    taken = await anext(runs)
    await side.work()
    assert engine.get(view.id).details is not None

    def facts() -> dict[str, str]:
        shown = engine.get(view.id)
        return dict(task_facts(engine, shown, Look(columns=80), at=engine.clock.now()))

    assert not facts().get("began again")
    its, epoch = HOST.id, lease.epoch
    assert await fleet.lose(taken.number, attempt=1, host=its, epoch=epoch, why="its fuse burned")
    await side.work()
    said = "from its beginning, because big was lost "
    assert facts()["begins again"].startswith(said)
    await anext(runs)
    await side.work()
    assert facts()["began again"].startswith(said)
    lost = (engine.get(view.id).details or {})["lost_hosts"]
    assert [(each["run"], each["host"]) for each in lost] == [(1, "big")]
    outcome = {"code": "0"}
    assert await fleet.finish(taken.number, attempt=2, host=its, epoch=epoch, outcome=outcome)
