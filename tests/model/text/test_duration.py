"""Durations, sizes and times are read as people write them; everything else is refused with advice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.errors import BadValue
from errands.model.text.duration import parse_duration, parse_since, parse_size, parse_time, spoken, upcoming

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("2d", 172_800),
        ("1w", 604_800),
        ("500ms", 0.5),
        ("90", 90),
        ("0", 0),
        ("1.5", 1.5),
        ("1.5h", 5400),
        ("  10 minutes ", 600),
        ("1 hour 5 min", 3900),
        ("1D2H", 93_600),
        ("36500d", 36_500 * 86_400),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "m",
        "5x",
        "5 5",
        "-5s",
        "+5s",
        "1e3",
        "1..5s",
        ".s",
        "5m1h",
        "5m5m",
        "5s3",
        "1h30",
        "nan",
        "inf",
        "٣s",
    ],
)
def test_an_invalid_duration_is_refused_with_advice(text: str) -> None:
    with pytest.raises(BadValue, match="Write it like 30s, 5m, 1h30m"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["36501d", "99999999999999999999", "9" * 400])
def test_a_duration_has_an_end(text: str) -> None:
    with pytest.raises(BadValue):
        parse_duration(text)


def test_a_wrong_unit_is_named() -> None:
    with pytest.raises(BadValue, match="'5 parsecs' is not a duration: 'parsecs' is not a unit"):
        parse_duration("5 parsecs")


def test_a_unit_alone_is_answered_with_one_of_it() -> None:
    with pytest.raises(BadValue, match=r"'hourly' is not a duration: write 1h\. Write it like"):
        parse_duration("hourly")
    with pytest.raises(BadValue, match=r"'day' is not a duration: write 1d\. Write it like"):
        parse_duration("day")


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    at = partial(parse_time, now=NOW, zone=BERLIN)
    since = partial(parse_since, now=NOW, zone=BERLIN)
    readers: tuple[Callable[[str], object], ...] = (parse_duration, parse_size, at, since)
    for parse in readers:
        try:
            parse(text)
        except BadValue as error:
            advice = str(error)
        else:
            advice = "Write it like this."
        assert "Write it like" in advice


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1024", 1024),
        ("512K", 512 * 1024),
        ("256M", 256 * 1024**2),
        ("256 MB", 256 * 1024**2),
        ("256MiB", 256 * 1024**2),
        ("2G", 2 * 1024**3),
        ("1.5g", 3 * 1024**3 // 2),
        ("1T", 1024**4),
        ("7b", 7),
    ],
)
def test_a_size_is_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "-1M", "1X", "1 2", "1e9", "10000000P", "9999999T"])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="Write it like 512K, 256M or 2G"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("now", "2026-11-15T12:00:00+00:00"),
        ("in 10m", "2026-11-15T12:10:00+00:00"),
        ("In 1h 30m", "2026-11-15T13:30:00+00:00"),
        ("+10m", "2026-11-15T12:10:00+00:00"),
        ("14:30", "2026-11-15T13:30:00+00:00"),
        ("9:05", "2026-11-16T08:05:00+00:00"),
        ("13:00", "2026-11-16T12:00:00+00:00"),
        ("13:00:01", "2026-11-15T12:00:01+00:00"),
        ("2pm", "2026-11-15T13:00:00+00:00"),
        ("12am", "2026-11-15T23:00:00+00:00"),
        ("2:30pm", "2026-11-15T13:30:00+00:00"),
        ("tomorrow 9 AM", "2026-11-16T08:00:00+00:00"),
        ("9:00 pm", "2026-11-15T20:00:00+00:00"),
        ("noon", "2026-11-16T11:00:00+00:00"),
        ("midnight", "2026-11-15T23:00:00+00:00"),
        ("tomorrow at 5pm", "2026-11-16T16:00:00+00:00"),
        ("Friday 9am", "2026-11-20T08:00:00+00:00"),
        ("sun 14:00", "2026-11-15T13:00:00+00:00"),
        ("sunday noon", "2026-11-22T11:00:00+00:00"),
        ("today 18:00", "2026-11-15T17:00:00+00:00"),
        ("tomorrow 09:00", "2026-11-16T08:00:00+00:00"),
        ("2026-12-24T18:00", "2026-12-24T17:00:00+00:00"),
        ("2026-12-24 18:00", "2026-12-24T17:00:00+00:00"),
        ("2026-12-24T18:00Z", "2026-12-24T18:00:00+00:00"),
        ("2026-12-24T18:00-05:00", "2026-12-24T23:00:00+00:00"),
        ("2026-12-24", "2026-12-23T23:00:00+00:00"),
    ],
)
def test_a_time_is_read_in_the_persons_own_zone(text: str, when: str) -> None:
    read = parse_time(text, now=NOW, zone=BERLIN)

    assert read == datetime.fromisoformat(when)
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "25:00",
        "12:60",
        "12:5",
        "13pm",
        "0am",
        "pm",
        "tomorrow",
        "friday",
        "noon pm",
        "tomorrow 25:00",
        "yesterday 09:00",
        "in",
        "in 5 parsecs",
        "+",
        "soon",
    ],
)
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="Write it like"):
        parse_time(text, now=NOW, zone=BERLIN)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2h", "2026-11-15T10:00:00+00:00"),
        ("1 day", "2026-11-14T12:00:00+00:00"),
        ("today", "2026-11-14T23:00:00+00:00"),
        ("Yesterday", "2026-11-13T23:00:00+00:00"),
        ("yesterday 9 am", "2026-11-14T08:00:00+00:00"),
        ("13:00", "2026-11-15T12:00:00+00:00"),
        ("13:01", "2026-11-14T12:01:00+00:00"),
        ("2026-11-10", "2026-11-09T23:00:00+00:00"),
        ("2026-11-10T18:00Z", "2026-11-10T18:00:00+00:00"),
    ],
)
def test_a_time_that_has_passed_is_read(text: str, when: str) -> None:
    read = parse_since(text, now=NOW, zone=BERLIN)

    assert read == datetime.fromisoformat(when)
    assert read.tzinfo is UTC


@pytest.mark.parametrize("text", ["", "tomorrow", "yesterday 25:00", "soon", "-5s", "2026-13-01", "99999d"])
def test_an_invalid_time_that_has_passed_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match=r"is not a time that has passed\. Write it like 2h"):
        parse_since(text, now=NOW, zone=BERLIN)


def test_tomorrow_is_the_same_time_on_the_wall_when_the_clocks_change() -> None:
    evening = datetime(2026, 10, 24, 20, 0, tzinfo=BERLIN)

    assert parse_time("tomorrow 09:00", now=evening, zone=BERLIN) == datetime(
        2026, 10, 25, 9, 0, tzinfo=BERLIN
    )


def test_a_time_that_the_clocks_skip_comes_right_after_the_gap() -> None:
    evening = datetime(2026, 3, 28, 20, 0, tzinfo=BERLIN)

    assert parse_time("02:30", now=evening, zone=BERLIN) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


def test_without_a_zone_the_machines_own_counts() -> None:
    here = datetime(2026, 7, 1, 9, 0).astimezone()

    assert parse_time("2026-07-01T09:00", now=NOW) == here


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=20_000)))
def test_a_time_of_day_alone_is_within_a_day_and_never_past(later: timedelta) -> None:
    now = NOW + later
    read = parse_time("09:00", now=now, zone=UTC)

    assert now < read <= now + timedelta(days=1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-5, "0s"),
        (0.0004, "0s"),
        (0.002, "2ms"),
        (0.9999, "999ms"),
        (4.29, "4.2s"),
        (9.99, "9.9s"),
        (10, "10s"),
        (59.9, "59s"),
        (60, "1m"),
        (222, "3m 42s"),
        (3600, "1h"),
        (7500, "2h 5m"),
        (7559, "2h 5m"),
        (90_000, "1d 1h"),
        (864_000, "10d"),
    ],
)
def test_a_duration_is_spoken_in_two_units_at_most(seconds: float, text: str) -> None:
    assert spoken(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "in 1 s"),
        (59.4, "in 59 s"),
        (90, "in 1 min 30 s"),
        (120, "in 2 min"),
        (299, "in 4 min 59 s"),
        (330, "in 6 min"),
        (7500, "in 2 h 5 min"),
        (90_000, "in 1 day 1 h"),
    ],
)
def test_what_comes_within_minutes_has_seconds(seconds: float, text: str) -> None:
    assert upcoming(timedelta(seconds=seconds)) == text


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=36_500)))
def test_what_is_spoken_can_be_read_and_is_never_too_long(duration: timedelta) -> None:
    read = parse_duration(spoken(duration))

    assert read <= duration
    assert duration - read < max(timedelta(milliseconds=100), duration / 10)
