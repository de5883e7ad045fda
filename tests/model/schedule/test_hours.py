"""Active hours: what is understood, what is refused, and which moments they cover."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.errors import BadValue
from errands.model.schedule.hours import Hours, is_within, next_start, parse_hours

VIENNA = ZoneInfo("Europe/Vienna")
BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
EVERY_DAY = tuple(range(7))


@pytest.mark.parametrize(
    ("text", "days", "start", "end"),
    [
        ("9-17", EVERY_DAY, 540, 1020),
        ("09:30-17:45", EVERY_DAY, 570, 1065),
        ("22-6", EVERY_DAY, 1320, 360),
        ("0-24", EVERY_DAY, 0, 1440),
        ("Mon-Fri 9-17", (0, 1, 2, 3, 4), 540, 1020),
        ("sat-mon 9-17", (0, 5, 6), 540, 1020),
        ("Mon,Wed,Sat-Sun 8-9", (0, 2, 5, 6), 480, 540),
    ],
)
def test_hours_are_read_as_people_write_them(text: str, days: tuple[int, ...], start: int, end: int) -> None:
    assert parse_hours(text) == Hours(days=days, start=start, end=end)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9",
        "9-9",
        "25-3",
        "9:60-10",
        "24-3",
        "Mon",
        "Monday 9-17",
        "Mon-Fri",
        "9-17 Mon",
        "a-b",
        "1-2 3-4 5",
    ],
)
def test_what_is_not_understood_is_refused_with_the_way_to_write_it(text: str) -> None:
    with pytest.raises(BadValue, match="9-17"):
        parse_hours(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("25-99", "there is no hour 25. "),
        ("9:60-10", "there is no time 9:60. "),
        ("a-b", "'a' is not a time of day. "),
        ("Moon 9-17", "'moon' is not a day like Mon. "),
    ],
)
def test_the_part_that_is_wrong_is_named(text: str, why: str) -> None:
    with pytest.raises(BadValue) as refused:
        parse_hours(text)

    assert str(refused.value).startswith(f"{text!r} is not a range of hours: {why}")


@pytest.mark.parametrize(
    ("text", "wall", "inside"),
    [
        ("9-17", "2026-03-02T09:00", True),
        ("9-17", "2026-03-02T16:59", True),
        ("9-17", "2026-03-02T17:00", False),
        ("22-6", "2026-03-02T23:00", True),
        ("22-6", "2026-03-03T05:59", True),
        ("22-6", "2026-03-03T06:00", False),
        ("Fri 22-6", "2026-03-07T05:00", True),  # the night from Friday to Saturday
        ("Fri 22-6", "2026-03-06T05:00", False),
        ("Mon-Fri 9-17", "2026-03-07T12:00", False),
    ],
)
def test_a_window_over_midnight_belongs_to_the_day_it_begins(text: str, wall: str, inside: bool) -> None:
    moment = datetime.fromisoformat(wall).replace(tzinfo=VIENNA).astimezone(UTC)

    assert is_within(parse_hours(text), moment, VIENNA) is inside


@given(
    moment=st.timedeltas(timedelta(), timedelta(days=5000)).map(lambda span: BEGIN + span),
    text=st.sampled_from(["9-17", "22-6", "Mon-Fri 9-17", "Sun 2:15-2:45", "0-24"]),
)
def test_hours_begin_after_a_moment_and_not_long_after(moment: datetime, text: str) -> None:
    begins = next_start(parse_hours(text), moment, VIENNA)

    assert moment < begins <= moment + timedelta(days=8)
