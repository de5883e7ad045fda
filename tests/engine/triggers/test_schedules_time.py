"""Schedules in simulated time: every zone and clock change, jumps, sleep and downtime.

No slot runs twice and every slot has a record. The expected slots are computed differently from the
engine: by walking through the minutes of a zone and reading its clock.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

import pytest

from errands.engine.triggers.scheduler import Scheduler
from errands.model.record import evolve
from errands.model.schedule.cron import times
from errands.model.schedule.cursor import ScheduleCursor
from errands.model.schedule.slot_record import advance
from errands.model.trigger import Cron, Every
from tests.engine.worlds import World, expanded
from tests.hand_clock import START
from tests.samples import sample_task

SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))
FIRST = datetime(2020, 1, 1, tzinfo=UTC)
AROUND = 8 * HOUR
STEPS = [SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY]


def changes(zone: tzinfo, last: datetime) -> Iterator[tuple[datetime, timedelta, timedelta]]:
    """Yield the clock changes of a zone: when, and its UTC offset before and after."""
    at, before = FIRST, FIRST.astimezone(zone).utcoffset()
    while at < last:
        later = at + 5 * DAY
        after = later.astimezone(zone).utcoffset()
        assert before is not None
        assert after is not None
        if before != after:
            low, high = at, later
            while high - low > MINUTE:
                middle = low + (high - low) // MINUTE // 2 * MINUTE
                low, high = (low, middle) if middle.astimezone(zone).utcoffset() == after else (middle, high)
            yield high, before, after
        at, before = later, after


@pytest.fixture(scope="module")
def changing() -> dict[str, list[tuple[datetime, timedelta, timedelta]]]:
    """The clock changes of four years; `tests/long` has those of sixteen."""
    return changing_zones(2024)


def changing_zones(until: int) -> dict[str, list[tuple[datetime, timedelta, timedelta]]]:
    """Return the zones with clock changes before a year, one for each set of identical changes."""
    found: dict[tuple[tuple[datetime, timedelta, timedelta], ...], str] = {}
    for name in sorted(available_timezones()):
        its = list(changes(ZoneInfo(name), datetime(until, 1, 1, tzinfo=UTC)))
        if its:
            found.setdefault(tuple(its), name)
    return {name: list(its) for its, name in found.items()}


class Wall:
    """What the clock of a zone shows in each minute around a moment."""

    def __init__(self, zone: tzinfo, moment: datetime) -> None:
        self.start, self.end = moment - AROUND, moment + AROUND
        minutes = [self.start + number * MINUTE for number in range(2 * AROUND // MINUTE + 1)]
        self.shown = [(each, each.astimezone(zone).replace(tzinfo=None, fold=0)) for each in minutes]
        self.first: dict[datetime, datetime] = {}
        for each, wall in self.shown:
            self.first.setdefault(wall, each)

    def of_hours(self, minutes: Sequence[int], hours: Sequence[int]) -> list[datetime]:
        """Return when times of day occur: when first shown, or right after the gap they fall into."""
        found = set()
        first, last = self.shown[0][1], self.shown[-1][1]
        for days in range((last.date() - first.date()).days + 1):
            midnight = first.replace(hour=0, minute=0) + days * DAY
            for wall in (midnight + hour * HOUR + minute * MINUTE for hour in hours for minute in minutes):
                if first <= wall <= last:
                    found.add(self.first.get(wall) or next(at for at, shown in self.shown if shown > wall))
        return sorted(each for each in found if each > self.start)

    def of_minutes(self, minutes: Sequence[int]) -> list[datetime]:
        """Return every time the clock shows these minutes of any hour, repeated hours included."""
        return [each for each, wall in self.shown if wall.minute in minutes and each > self.start]


def lines_at(
    change: datetime, before: timedelta, after: timedelta
) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield cron lines that fall into what a clock change skips or repeats, with their minutes and hours."""
    middle = (change + (before + after) / 2).replace(tzinfo=None)
    hour, minute = middle.hour, middle.minute
    yield f"{minute} {hour} * * *", [minute], [hour]
    yield f"*/20 {hour} * * *", [0, 20, 40], [hour]
    yield "15 */2 * * *", [15], list(range(0, 24, 2))


@pytest.mark.spec("T1", "T3")
@pytest.mark.trap(48)
@pytest.mark.fault("F23")
def test_a_cron_line_follows_the_clock_of_every_zone_through_every_change(
    changing: dict[str, list[tuple[datetime, timedelta, timedelta]]],
) -> None:
    seen = 0
    for name, its in changing.items():
        zone = ZoneInfo(name)
        for change, before, after in its:
            wall = Wall(zone, change)
            for line, minutes, hours in lines_at(change, before, after):
                found = []
                for time in times(line, name, after=wall.start):
                    if time > wall.end:
                        break
                    found.append(time)
                expected = wall.of_hours(minutes, hours)
                assert found == expected, (name, line, change)
                inside = change + 5 * MINUTE  # where an hour may be shown for the second time
                later = next(times(line, name, after=inside))
                assert later > inside
                assert later == next((each for each in expected if each > inside), later), (
                    name,
                    line,
                    change,
                )
            found = [
                each
                for each, _ in zip(times("*/30 * * * *", name, after=wall.start), range(20), strict=False)
            ]
            assert found == wall.of_minutes([0, 30])[:20], (name, change)
            seen += 1
    assert len(changing) > 40
    assert seen > 5 * len(changing)


@pytest.mark.spec("T3", "T10")
@pytest.mark.trap(42, 43)
@pytest.mark.fault("F23")
def test_every_slot_around_every_change_has_one_record(
    changing: dict[str, list[tuple[datetime, timedelta, timedelta]]],
) -> None:
    rng = random.Random(1)
    for name, its in changing.items():
        for change, before, after in its:
            wall = Wall(ZoneInfo(name), change)
            line, minutes, hours = next(lines_at(change, before, after))
            schedule = Cron(line=line.replace(" * * *", f",{(change.hour + 7) % 24} * * *"), zone=name)
            hours = [*hours, (change.hour + 7) % 24]
            processed = now = wall.start
            recorded: list[datetime] = []
            while now < wall.end:
                now += rng.choice((7 * MINUTE, 50 * MINUTE, 4 * HOUR))
                now = min(now, wall.end)
                advanced = advance(schedule, "t", since=processed, now=now, is_busy=rng.random() < 0.3)
                for record in (*advanced.records, *([advanced.run] if advanced.run else ())):
                    recorded += expanded(schedule, record.slot, record.until)
                processed = advanced.until
            assert sorted(recorded) == wall.of_hours(minutes, hours), (name, schedule.line, change)


SCHEDULES: dict[str, Every | Cron] = {
    "every 10m": Every(span=10 * MINUTE, anchor=START),
    "every 7m, all": Every(span=7 * MINUTE, anchor=START, misfire="all", max_age=2 * HOUR),
    "every 10m, skip": Every(span=10 * MINUTE, anchor=START, misfire="skip"),
    "every 10m, jitter": Every(span=10 * MINUTE, anchor=START, jitter=4 * MINUTE),
    "hourly at night": Cron(line="*/10 * * * *", zone="Europe/Vienna", hours="22-6"),
    "twice a day": Cron(line="30 2,14 * * *", zone="America/New_York", max_age=DAY),
}


@pytest.fixture(params=SCHEDULES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, SCHEDULES[request.param])
    yield world
    world.close()


@pytest.mark.spec("T3", "T10")
@pytest.mark.trap(42, 43, 50)
@pytest.mark.fault("F22")
@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("direction", [1, -1], ids=["on", "back"])
def test_a_clock_jump_makes_no_slot_run_twice_and_loses_none(
    world: World, step: timedelta, direction: int
) -> None:
    rng = random.Random(int(step.total_seconds()) * direction)
    for _ in range(40):
        world.clock.turn(rng.choice((SECOND, 30 * SECOND, 5 * MINUTE)))
        world.fire_due_slots()
    world.clock.turn(direction * step)
    world.fire_due_slots()
    for _ in range(20):
        world.clock.turn(rng.choice((SECOND, 30 * SECOND, 11 * MINUTE)))
        world.fire_due_slots()
    if direction < 0:  # and when the slots that fired before come again
        while world.clock.now() < world.latest:
            world.clock.turn(step / 7)
            world.fire_due_slots()
    world.clock.turn(DAY)
    world.fire_due_slots()
    world.check()


@pytest.mark.spec("T3", "T10")
@pytest.mark.fault("F22")
def test_slots_that_did_not_run_during_a_week_long_clock_glitch_run_in_time(tmp_path: Path) -> None:
    world = World(tmp_path, SCHEDULES["every 10m"])
    world.clock.turn(7 * DAY)
    world.fire_due_slots()
    assert len(world.started) == 1
    world.clock.turn(-7 * DAY)
    for _ in range(12):
        world.fire_due_slots()
        world.clock.turn(5 * MINUTE)
    assert len(world.started) == 6
    world.clock.turn(7 * DAY)
    world.fire_due_slots()
    world.check()
    world.close()


@pytest.mark.spec("T3", "T10")
@pytest.mark.fault("F22")
def test_records_of_a_clock_more_than_a_week_ahead_are_discarded(tmp_path: Path) -> None:
    world = World(tmp_path, SCHEDULES["every 10m"])
    world.clock.turn(100 * DAY)
    world.fire_due_slots()
    world.clock.turn(-100 * DAY)
    world.started.clear()
    for _ in range(4):
        world.fire_due_slots()
        world.clock.turn(10 * MINUTE)
    assert len(world.started) == 3
    recorded = [each.outcome for each in world.store.slots(world.task.id)]
    assert recorded == ["ran"] * 3
    world.close()


@pytest.mark.spec("T3", "T10")
@pytest.mark.trap(44)
@pytest.mark.fault("F24")
def test_a_sleep_of_eight_hours_causes_one_run_instead_of_one_per_slot(tmp_path: Path) -> None:
    world = World(tmp_path, SCHEDULES["every 10m"])
    world.clock.turn(8 * HOUR)
    world.fire_due_slots()
    world.fire_due_slots()

    assert len(world.started) == 1
    newest, missed = world.store.slots(world.task.id)
    assert (newest.outcome, missed.outcome, missed.count, missed.run) == ("ran", "coalesced", 47, newest.run)
    world.check()
    world.close()


@pytest.mark.spec("T3", "T10")
@pytest.mark.trap(44)
@pytest.mark.fault("F24")
@pytest.mark.parametrize(
    ("misfire", "outcomes", "runs"),
    [
        ("once", [("late", 1), ("coalesced", 4)], 1),
        ("skip", [("missed", 5)], 0),
        ("all", [("late", 1)] * 5, 5),
    ],
)
def test_five_slots_during_downtime_are_handled_by_the_misfire_policy(
    tmp_path: Path, misfire: str, outcomes: list[tuple[str, int]], runs: int
) -> None:
    world = World(tmp_path, evolve(SCHEDULES["every 10m"], misfire=misfire))
    world.clock.turn(55 * MINUTE)
    world.schedulers = [Scheduler(world.store)]  # the next daemon
    world.fire_due_slots()

    assert [(each.outcome, each.count) for each in world.store.slots(world.task.id)] == outcomes
    assert len(world.started) == runs
    world.check()
    world.close()


@pytest.mark.spec("T10")
@pytest.mark.trap(43)
@pytest.mark.fault("F37")
def test_two_schedulers_fire_every_slot_once(tmp_path: Path) -> None:
    world = World(tmp_path, SCHEDULES["every 10m"], schedulers=2)
    rng = random.Random(7)
    for _ in range(300):
        world.clock.turn(rng.choice((SECOND, 3 * MINUTE, 25 * MINUTE, -2 * MINUTE)))
        world.fire_due_slots(rng.randrange(2))
    world.clock.turn(HOUR)
    world.fire_due_slots(1)
    world.check()
    world.close()


@pytest.mark.spec("T10")
@pytest.mark.trap(42)
def test_slots_that_another_scheduler_fired_meanwhile_are_not_recorded_again(tmp_path: Path) -> None:
    world = World(tmp_path, SCHEDULES["every 10m"], schedulers=2)
    world.clock.turn(10 * MINUTE)
    with world.store:
        stale = world.store.due_schedules(now=world.clock.now(), limit=1)[0][1]
    world.fire_due_slots(1)
    with world.store:
        until = world.clock.now()
        assert not world.store.advance(world.task.id, since=stale.processed_until, until=until, next_at=None)
    world.check()
    world.close()


@pytest.mark.spec("T3", "T10")
@pytest.mark.trap(44)
def test_a_week_of_missed_ten_second_slots_is_caught_up_in_bounded_steps(tmp_path: Path) -> None:
    world = World(tmp_path, Every(span=10 * SECOND, anchor=START))
    world.clock.turn(7 * DAY)
    world.fire_due_slots()

    assert len(world.started) == 1
    assert sum(each.count for each in world.store.slots(world.task.id)) == 7 * DAY // (10 * SECOND)
    world.close()


@pytest.mark.trap(52, 55)
def test_a_schedule_whose_zone_is_gone_is_paused_and_reported_without_delaying_others(tmp_path: Path) -> None:
    world = World(tmp_path, SCHEDULES["twice a day"])
    other = sample_task("other-222222", trigger=SCHEDULES["every 10m"])
    with world.store:
        world.store.add_recurring(other, ScheduleCursor(processed_until=START, next_at=START + 10 * MINUTE))
        world.store.db.write(
            "UPDATE tasks SET standing = replace(standing, 'America/New_York', 'Gone/City') WHERE id = ?",
            (world.task.id,),
        )
    world.clock.turn(DAY)
    world.fire_due_slots()

    assert world.store.view(world.task.id).state == "paused"
    assert world.store.view(other.id).latest.number == 1
    (notice,) = world.store.inbox("user")
    assert "unknown time zone 'Gone/City'" in notice.body
    world.close()
