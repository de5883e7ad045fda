"""Schedules: the slots of a grid, when each is heard, and what becomes of those that are due."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.errors import BadValue
from errands.model.record import evolve
from errands.model.schedule.cron import check_line, times
from errands.model.schedule.slot_record import MOST_WAITING, Slot, advance
from errands.model.schedule.slots import fire_time, next_active, next_slot, preview, slots
from errands.model.trigger import Cron, Every, On, as_plain, described, from_plain

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))
TEN = Every(span=10 * MINUTE, anchor=START)

SCHEDULES = st.one_of(
    st.builds(
        Every,
        span=st.timedeltas(SECOND, 3 * DAY),
        anchor=st.timedeltas(timedelta(), 60 * DAY).map(lambda span: START - span),
        jitter=st.sampled_from([timedelta(), SECOND, HOUR]),
        hours=st.sampled_from(["", "9-17", "22-6"]),
        zone=st.sampled_from(["UTC", "Europe/Vienna", "Australia/Lord_Howe"]),
        misfire=st.sampled_from(["once", "skip", "all"]),
        max_age=st.sampled_from([None, MINUTE, DAY]),
    ),
    st.builds(
        Cron,
        line=st.sampled_from(["* * * * *", "30 2 * * *", "*/7 */5 * * *", "0 0 1 * 1", "15 10 L * *"]),
        jitter=st.sampled_from([timedelta(), MINUTE]),
        zone=st.sampled_from(["UTC", "America/New_York", "Asia/Beirut"]),
        misfire=st.sampled_from(["once", "skip", "all"]),
    ),
)
MOMENTS = st.timedeltas(timedelta(), 270 * DAY).map(lambda span: START + span)


@pytest.mark.trap(47)
@given(SCHEDULES, MOMENTS)
def test_slots_only_go_on_and_depend_on_nothing_but_the_schedule(schedule: Any, after: datetime) -> None:
    first = list(islice(slots(schedule, after=after), 6))

    assert first[0] > after
    assert all(one < other for one, other in pairwise(first))
    assert list(islice(slots(schedule, after=first[2]), 3)) == first[3:]
    assert next_slot(schedule, after=first[3] - timedelta.resolution) == first[3]


@given(SCHEDULES, MOMENTS)
def test_jitter_is_always_the_same_and_passes_no_other_slot(schedule: Any, after: datetime) -> None:
    for slot, following in pairwise(islice(slots(schedule, after=after), 4)):
        heard = fire_time(schedule, "task-1", slot)
        assert slot <= heard < following
        assert heard - slot <= schedule.jitter
        assert heard == fire_time(schedule, "task-1", slot)


def test_jitter_spreads_tasks_of_one_schedule() -> None:
    schedule = evolve(TEN, jitter=5 * MINUTE)
    slot = START + 10 * MINUTE

    assert len({fire_time(schedule, f"task-{number}", slot) for number in range(50)}) == 50


@pytest.mark.trap(42)
@given(
    schedule=SCHEDULES, looks=st.lists(st.timedeltas(timedelta(), 2 * DAY), max_size=6), busy=st.booleans()
)
def test_no_slot_is_lost_or_reported_twice_however_often_it_is_checked(
    schedule: Any, looks: list[timedelta], busy: bool
) -> None:
    schedule = (
        evolve(schedule, span=max(schedule.span, 7 * MINUTE)) if isinstance(schedule, Every) else schedule
    )
    heard = now = START
    told: list[datetime] = []
    waiting: list[datetime] = []
    for look in looks:
        now += look
        listened = advance(schedule, "t", since=heard, now=now, is_busy=busy, waiting=waiting)
        run = [] if listened.run is None else [listened.run]
        waiting = [each for each in waiting if each not in [slot.slot for slot in run]]
        waiting += [each.slot for each in listened.records if each.outcome == "waiting"]
        told += [
            slot for each in listened.records if each.outcome != "waiting" for slot in within(schedule, each)
        ]
        told += [each.slot for each in run]
        heard = listened.until
        assert listened.next_at is None or listened.next_at >= now or len(listened.records) > 0
    expected = [each for each in within(schedule, span(START, now)) if each <= heard]

    assert sorted([*told, *waiting]) == expected
    assert len(waiting) <= MOST_WAITING


def span(first: datetime, last: datetime) -> Slot:
    return Slot(slot=first + timedelta.resolution, until=last, count=1, outcome="ran", at=last)


def within(schedule: Any, record: Slot) -> list[datetime]:
    found = []
    for slot in slots(schedule, after=record.slot - timedelta.resolution):
        if slot > record.until:
            break
        found.append(slot)
    return found


def told(schedule: Any, now: datetime, **more: Any) -> tuple[list[Any], str | None]:
    listened = advance(schedule, "t", since=START, now=now, is_busy=more.pop("is_busy", False), **more)
    records = [(each.outcome, each.count, each.reason) for each in listened.records]
    return records, None if listened.run is None else listened.run.outcome


def test_a_slot_on_time_runs_and_a_later_one_is_late() -> None:
    assert told(TEN, START + 10 * MINUTE) == ([], "ran")
    assert told(TEN, START + 11 * MINUTE) == ([], "ran")
    assert told(TEN, START + 12 * MINUTE) == ([], "late")


@pytest.mark.spec("T10")
@pytest.mark.trap(44)
def test_what_was_missed_ends_as_the_policy_says() -> None:
    now = START + 35 * MINUTE
    skip, every = evolve(TEN, misfire="skip"), evolve(TEN, misfire="all")

    assert told(TEN, now) == ([("coalesced", 2, "a later one ran in its place")], "late")
    assert told(skip, now) == ([("missed", 3, "the daemon was not running at its time")], None)
    assert told(skip, START + 30 * MINUTE) == (
        [("missed", 2, "the daemon was not running at its time")],
        "ran",
    )
    assert told(every, now) == ([("waiting", 1, ""), ("waiting", 1, "")], "late")
    assert told(evolve(TEN, max_age=6 * MINUTE), now) == (
        [("missed", 2, "older than its maximum age")],
        "late",
    )
    assert told(evolve(TEN, max_age=MINUTE), now) == ([("missed", 3, "older than its maximum age")], None)


@pytest.mark.spec("T4")
def test_a_run_that_goes_on_has_what_is_due_skipped_and_what_was_missed_wait() -> None:
    overlap = "the run before it had not ended"
    now = START + 20 * MINUTE

    assert told(TEN, now, is_busy=True) == ([("skipped", 2, overlap)], None)
    assert told(evolve(TEN, misfire="all"), now, is_busy=True) == (
        [("waiting", 1, ""), ("skipped", 1, overlap)],
        None,
    )


def test_those_that_waited_run_in_turn_and_not_more_than_a_hundred() -> None:
    every = evolve(TEN, misfire="all")
    first = START - HOUR
    records, run = told(every, START + 10 * MINUTE, waiting=[first])
    assert (records, run) == ([("waiting", 1, "")], "late")

    listened = advance(every, "t", since=START, now=START + 2000 * MINUTE, is_busy=True)
    counted = dict.fromkeys(("missed", "waiting", "skipped"), 0)
    for each in listened.records:
        counted[each.outcome] += each.count
    assert counted == {"missed": 99, "waiting": 100, "skipped": 1}


def test_slots_outside_of_active_hours_are_skipped_together() -> None:
    schedule = Every(span=HOUR, anchor=START, hours="9-17")

    assert next_active(schedule, after=START + 4 * HOUR) == START + 21 * HOUR
    listened = advance(schedule, "t", since=START + 4 * HOUR, now=START + 21 * HOUR, is_busy=False)
    assert [(each.outcome, each.count, each.reason) for each in listened.records] == [
        ("skipped", 16, "outside of active hours")
    ]
    assert listened.run is not None
    assert [f"{each:%H}" for each in preview(schedule, "t", after=START, count=5)] == [
        "13",
        "14",
        "15",
        "16",
        "09",
    ]


def test_what_ran_before_the_clock_was_put_back_does_not_run_again() -> None:
    slot = START + 10 * MINUTE

    assert told(TEN, slot, taken={slot}) == ([], None)
    assert told(TEN, START + 30 * MINUTE, taken={START + 20 * MINUTE}) == (
        [("coalesced", 1, "a later one ran in its place")],
        "ran",
    )


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("@daily", "2026-03-03T00:00"),
        ("@hourly", "2026-03-02T13:00"),
        ("0 9 * * MON-FRI", "2026-03-03T09:00"),
        ("0 0 13 * 5", "2026-03-06T00:00"),  # the 13th, or a Friday
        ("0 0 */10 * 5", "2026-05-01T00:00"),  # with a star both must hold, as in Debian
        ("0 12 29 2 *", "2028-02-29T12:00"),
        ("0 0 * * 7", "2026-03-08T00:00"),
    ],
)
@pytest.mark.trap(48)
def test_a_cron_line_means_what_it_means_elsewhere(line: str, first: str) -> None:
    found = next(times(check_line(line), "UTC", after=START))

    assert found == datetime.fromisoformat(first).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "line", ["", "* * * *", "* * * * * *", "60 * * * *", "0 0 31 13 *", "a b c d e", "@reboot"]
)
def test_an_invalid_cron_line_is_refused(line: str) -> None:
    with pytest.raises(BadValue, match="is not a cron line"):
        check_line(line)


def test_a_cron_line_for_a_day_that_never_comes_is_refused() -> None:
    with pytest.raises(BadValue, match=r"'0 0 31 2 \*' never fires: that day does not exist"):
        check_line("0 0 31 2 *")


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (Every(span=90 * SECOND, anchor=START), "every 1m30s"),
        (
            Every(span=DAY, anchor=START, hours="9-17", zone="UTC", jitter=MINUTE),
            "every 1d, within 9-17 (UTC), up to 1m later",
        ),
        (Cron(line="0 9 * * 1-5", zone="Asia/Tokyo"), "cron 0 9 * * 1-5 (Asia/Tokyo)"),
        (On(source="file", subject="*.py"), "on file:*.py"),
    ],
)
def test_a_trigger_is_described_in_words_and_stored_as_plain_values(trigger: Any, words: str) -> None:
    assert described(trigger) == words
    assert from_plain(as_plain(trigger)) == trigger


def test_cron_and_zones_are_imported_only_when_needed() -> None:
    loads = "import sys, errands.engine.daemon.loops, errands.engine.triggers.schedules; "
    loads += "print([each for each in ('cronsim', 'zoneinfo') if each in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)

    assert answer.stdout == "[]\n"
