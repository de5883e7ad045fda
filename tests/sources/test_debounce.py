"""Signals become runs: a burst is one, none overlaps, none comes too often, and each ends in one record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from errands.engine.engine import Engine
from errands.engine.triggers.debounce import burst_end
from errands.engine.triggers.scheduler import Scheduler
from errands.model.ending import Ending
from errands.model.options.draft import Draft
from errands.model.rollup import Outcome
from errands.model.schedule.watch import Watch
from errands.model.trigger import On
from tests.sources.watches import check_books, watching

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


class AgentContext:
    """A watch whose signals and clock are moved by hand; its runs start and end when the test says so."""

    def __init__(self, client: Engine, project: Path, **more: Any) -> None:
        self.store = client.store
        self.client = client
        self.scheduler = Scheduler(client.store)
        self.task_id = client.submit(watching(project, "file:src/*.py", **more)).id

    def signal(self, at: datetime, text: str = "something") -> None:
        with self.store:
            self.store.add_signal(self.task_id, f'{{"text": "{text}"}}', now=at)
            self.store.set_next_fire(self.task_id, at)

    def turn(self, at: datetime) -> None:
        with self.store:
            self.scheduler.fire_due(at)

    def start(self, at: datetime) -> None:
        with self.store:
            (claimed,) = self.store.claim("shell", limit=1, now=at)
            self.run = claimed[1]

    def end(self, at: datetime) -> None:
        with self.store:
            outcome = Outcome(
                run_state="completed", task_state="active", failure=None, error=None, notify=False
            )
            self.store.end(self.run, outcome, Ending(code=0), summary=None, now=at)

    def run_at(self, at: datetime) -> None:
        self.signal(at)
        self.turn(at)
        self.start(at)
        self.end(at)

    @property
    def outcomes(self) -> list[tuple[str, int, int | None]]:
        return [(each.outcome, each.count, each.run) for each in reversed(self.store.slots(self.task_id))]


@pytest.mark.spec("T6")
@pytest.mark.parametrize(
    ("first", "last", "end"),
    [(0, 0, 2), (0, 1, 3), (0, 27, 29), (0, 28, 30), (0, 29, 30)],
)
def test_a_burst_ends_when_it_is_quiet_or_has_lasted_long_enough(first: int, last: int, end: int) -> None:
    trigger = On(source="file")

    assert burst_end(trigger, first=NOW + first * SECOND, last=NOW + last * SECOND) == NOW + end * SECOND


@pytest.mark.spec("T6", "T10")
def test_a_burst_is_one_run(client: Engine, project: Path) -> None:
    context = AgentContext(client, project)
    for number in range(50):
        context.signal(NOW, str(number))
    context.turn(NOW + SECOND)

    assert context.outcomes == [("ran", 50, 1)]
    assert client.store.view(context.task_id).latest.cause == "event"
    check_books(client, context.task_id)


@pytest.mark.spec("T6")
def test_what_comes_before_a_run_has_started_joins_it(client: Engine, project: Path) -> None:
    context = AgentContext(client, project)
    context.signal(NOW)
    context.turn(NOW)
    context.signal(NOW + SECOND)
    context.turn(NOW + SECOND)

    assert context.outcomes == [("ran", 1, 1), ("coalesced", 1, 1)]
    assert len(client.store.signals(context.task_id, run=1)) == 2
    check_books(client, context.task_id)


@pytest.mark.spec("T6")
@pytest.mark.trap(53)
def test_what_comes_while_a_run_goes_on_waits_for_its_end(client: Engine, project: Path) -> None:
    context = AgentContext(client, project)
    context.signal(NOW)
    context.turn(NOW)
    context.start(NOW)
    context.signal(NOW + SECOND)
    context.signal(NOW + 2 * SECOND)
    context.turn(NOW + 2 * SECOND)
    assert context.outcomes == [("ran", 1, 1)]

    context.end(NOW + 3 * SECOND)
    context.turn(NOW + HOUR / 2)
    assert context.outcomes == [("ran", 1, 1), ("ran", 2, 2)]
    check_books(client, context.task_id)


@pytest.mark.trap(54)
@pytest.mark.spec("T11")
def test_what_comes_too_often_waits_until_the_hour_has_room(client: Engine, project: Path) -> None:
    context = AgentContext(client, project, rate=3)
    for number in range(3):
        context.run_at(NOW + number * SECOND)
    context.signal(NOW + 10 * SECOND)
    context.turn(NOW + 10 * SECOND)

    watch = client.store.watch(context.task_id)
    assert watch is not None
    assert (watch.health, watch.broken_until) == ("broken", NOW + HOUR)
    assert "3 times within an hour" in (watch.error or "")
    assert len(context.outcomes) == 3

    context.turn(NOW + HOUR)
    watch = client.store.watch(context.task_id)
    assert context.outcomes[-1] == ("ran", 1, 4)
    assert watch == Watch(task_id=context.task_id, health="well")
    check_books(client, context.task_id)


def test_a_clock_that_was_put_back_does_not_silence_a_watch(client: Engine, project: Path) -> None:
    context = AgentContext(client, project, rate=1)
    context.run_at(NOW + 100 * HOUR)
    context.signal(NOW)
    context.turn(NOW + 101 * HOUR)

    assert context.outcomes[0] == ("ran", 1, 1)
    assert len(context.outcomes) == 2


@pytest.mark.trap(50)
def test_a_clock_that_was_put_back_does_not_put_signals_off(client: Engine, project: Path) -> None:
    context = AgentContext(client, project)
    context.signal(NOW + 100 * HOUR)
    with client.store:
        context.scheduler.rewind(NOW)
    context.turn(NOW)

    assert context.outcomes == [("ran", 1, 1)]


@pytest.mark.parametrize("verb", ["pause", "cancel"])
def test_signals_that_wait_when_a_trigger_is_paused_are_missed(
    client: Engine, project: Path, verb: str
) -> None:
    context = AgentContext(client, project)
    context.signal(NOW)
    if verb == "pause":
        client.schedules.pause(context.task_id)
    else:
        client.cancel([context.task_id])

    assert context.outcomes == [("missed", 1, None)]
    check_books(client, context.task_id)


def test_a_task_that_reached_its_max_runs_does_not_fire_again(client: Engine, project: Path) -> None:
    context = AgentContext(client, project, max_runs=1)
    context.signal(NOW)
    context.turn(NOW)
    cursor = client.store.cursor(context.task_id)

    assert cursor is not None
    assert (cursor.runs, cursor.next_at) == (1, None)


def test_two_daemons_make_one_run(client: Engine, project: Path) -> None:
    context = AgentContext(client, project)
    context.signal(NOW)
    other = Scheduler(client.store)
    context.turn(NOW)
    with client.store:
        other.fire_due(NOW)

    assert len(client.store.history(context.task_id)) == 1


def test_signals_of_one_moment_have_times_of_their_own(client: Engine, project: Path) -> None:
    context = AgentContext(client, project)
    for _ in range(3):
        context.signal(NOW)

    assert len({each.at for each in client.store.signals(context.task_id)}) == 3


def test_a_draft_that_says_too_much_is_refused(client: Engine) -> None:
    from errands.model.errors import BadValue

    with pytest.raises(BadValue, match="every and on cannot be combined"):
        client.submit(Draft(command="true", every=HOUR, on="file:*.py"))
    with pytest.raises(BadValue, match="debounce has no effect without on"):
        client.submit(Draft(command="true", debounce=SECOND))
    with pytest.raises(BadValue, match="rate must be at least 1"):
        client.submit(Draft(command="true", on="file:*.py", rate=0))
