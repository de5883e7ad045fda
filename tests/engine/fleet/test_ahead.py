"""Runs taken ahead: one that waits too long is given back, and begins nowhere twice whatever dies."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Any

import pytest

from errands.engine.fleet import ahead as ahead_module
from errands.engine.fleet.ahead import LATE
from errands.engine.fleet.placed_run import LANE
from errands.model.errors import FleetUnreachable
from errands.model.record import evolve
from errands.ports.fleet import Stop, Taken
from errands.testing.engines import until
from tests.engine.fleet.hosts import HOME, Host, eventually

pytestmark = pytest.mark.spec("X12")


class Killed(BaseException):
    """Stands for the death of the host process."""


async def ahead(host: Host, line: str) -> Taken:
    """Return a run that came ahead of its slot."""
    taken = await host.take(await host.offer(line))
    await host.sql("update fleet.runs set ahead = true")
    return evolve(taken, ahead=True)


async def test_a_run_that_came_ahead_and_waits_too_long_is_given_back(host: Host) -> None:
    host.engine.engine.queue.set_lane(LANE, 0)
    taken = await ahead(host, "echo once >> count")
    host.side.begin(taken)
    assert (await host.view(taken.number)).state == "taken"
    assert await host.tasks() == ["pending"]

    async def is_gone() -> bool:
        await host.side.work()
        return host.side.count == 0

    await eventually(is_gone)

    assert (await host.view(taken.number)).state in ("queued", "offered")
    assert await host.tasks() == []
    assert os.listdir(host.engine.engine.home.guests) == []

    host.engine.engine.queue.set_lane(LANE, 1)
    host.side.begin(again := await host.take(taken.number))
    assert again.attempt == 2
    assert (await host.outcome(taken.number))["code"] == "0"
    assert (host.folder / "count").read_text() == "once\n"


async def test_a_run_that_came_ahead_and_began_stays_and_its_home_is_told(host: Host) -> None:
    taken = await ahead(host, "echo up; exec sleep 1000")
    host.side.begin(taken)
    await until(lambda: host.engine.engine.counts().get("running") == 1)
    assert await host.fleet.results(HOME) == []

    async def is_known() -> bool:
        await host.side.work()
        return [each.state for each in await host.fleet.results(HOME)] == ["taken"]

    await eventually(is_known)
    await asyncio.sleep(LATE)
    await host.side.work()

    assert host.side.count == 1
    host.side.stop(Stop(number=taken.number, attempt=1, grace=0))
    await host.outcome(taken.number)


async def test_a_run_that_begins_while_it_is_given_back_stays(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead_module, "LATE", 3600.0)
    host.engine.engine.queue.set_lane(LANE, 0)
    taken = await ahead(host, "echo up; exec sleep 1000")
    host.side.begin(taken)
    await host.side.work()  # it waits, as far as the host side knows
    host.engine.engine.queue.set_lane(LANE, 1)
    await until(lambda: host.engine.engine.counts().get("running") == 1)
    monkeypatch.setattr(ahead_module, "LATE", 0.0)

    await host.side.work()

    assert host.side.count == 1
    assert (await host.view(taken.number)).state == "taken"
    host.side.stop(Stop(number=taken.number, attempt=1, grace=0))
    await host.outcome(taken.number)


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_run_that_is_given_back_begins_nowhere_twice_if_the_host_process_dies(
    host: Host, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.engine.engine.queue.set_lane(LANE, 0)
    taken = await ahead(host, "echo once >> count")
    host.side.begin(taken)
    give_back = host.fleet.give_back

    async def dies(*values: Any, **named: Any) -> bool:
        if is_told:
            await give_back(*values, **named)
        raise Killed

    async def gives_back() -> bool:
        await host.side.work()
        return False

    monkeypatch.setattr(host.fleet, "give_back", dies)
    with pytest.raises(Killed):
        await eventually(gives_back)
    monkeypatch.setattr(host.fleet, "give_back", give_back)
    assert await host.tasks() == []

    await host.new_side().find_again()
    host.engine.engine.queue.set_lane(LANE, 1)
    await host.side.work()
    assert host.side.count == 0
    assert await host.tasks() == []

    host.side.begin(await host.take(taken.number))
    assert (await host.outcome(taken.number))["code"] == "0"
    assert (host.folder / "count").read_text() == "once\n"


async def test_what_is_given_back_is_not_affirmed_and_told_until_the_fleet_knows(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.engine.engine.queue.set_lane(LANE, 0)
    taken = await ahead(host, "echo once >> count")
    host.side.begin(taken)
    give_back, tries = host.fleet.give_back, list[int]()

    async def cannot(number: int, **_: Any) -> bool:
        tries.append(number)
        raise FleetUnreachable("the fleet settles")

    monkeypatch.setattr(host.fleet, "give_back", cannot)

    async def has_tried_twice() -> bool:
        with suppress(FleetUnreachable):
            await host.side.work()
        return len(tries) == 2

    await eventually(has_tried_twice)
    host.engine.engine.queue.set_lane(LANE, 1)
    await host.side.affirm()
    assert await host.tasks() == []
    monkeypatch.setattr(host.fleet, "give_back", give_back)

    await host.side.work()

    assert host.side.count == 0
    assert (await host.view(taken.number)).state in ("queued", "offered")


async def test_a_late_answer_about_what_it_has_does_not_begin_what_was_given_back(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.engine.engine.queue.set_lane(LANE, 0)
    taken = await ahead(host, "echo once >> count")
    host.side.begin(taken)
    held, is_gone = host.fleet.held, asyncio.Event()

    async def slow(*who: Any) -> list[Taken]:
        found = await held(*who)
        await is_gone.wait()
        return found

    async def has_gone() -> bool:
        await host.side.work()
        return host.side.count == 0

    monkeypatch.setattr(host.fleet, "held", slow)
    finding = asyncio.create_task(host.side.find_again())
    await eventually(has_gone)
    is_gone.set()
    await finding
    host.side.begin(taken)
    assert await host.tasks() == []

    host.engine.engine.queue.set_lane(LANE, 1)
    host.side.begin(await host.take(taken.number))
    assert (await host.outcome(taken.number))["code"] == "0"
    assert (host.folder / "count").read_text() == "once\n"


async def test_ends_are_reported_although_the_fleet_cannot_take_a_run_back_yet(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.engine.engine.queue.set_lane(LANE, 1)
    first = await host.offer("sleep 1")
    host.side.begin(await host.take(first))
    host.side.begin(late := await ahead(host, "true"))
    await host.sql(f"update fleet.runs set ahead = false where number = {first}")

    async def cannot(*_: Any, **__: Any) -> bool:
        raise FleetUnreachable("the fleet settles")

    async def has_ended() -> bool:
        with suppress(FleetUnreachable):
            await host.side.work()
        return (await host.view(first)).outcome is not None

    monkeypatch.setattr(host.fleet, "give_back", cannot)
    await eventually(has_ended)

    assert (await host.view(late.number)).state == "taken"


async def test_a_host_wants_as_many_ahead_as_short_runs_ended_lately(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def after_another_run() -> int:
        number = await host.offer("true")
        host.side.begin(await host.take(number))
        assert (await host.outcome(number))["code"] == "0"
        return host.side.ahead.wanted

    assert host.side.ahead.wanted == 0
    monkeypatch.setattr(ahead_module, "AHEAD", 600.0)
    assert [await after_another_run() for _ in range(2)] == [1, 2]

    monkeypatch.setattr(ahead_module, "AHEAD", 0.0)
    assert host.side.ahead.wanted == 0, "that was too long ago"
    await after_another_run()
    monkeypatch.setattr(ahead_module, "AHEAD", 600.0)
    assert host.side.ahead.wanted == 0, "the run lasted too long"
