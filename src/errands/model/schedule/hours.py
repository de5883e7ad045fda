"""Active hours: the part of the day, and the days, on which a schedule may run.

They are written `9-17`, `09:00-17:30`, `22-6` (over midnight) or `Mon-Fri 9-17`; the end is not part of them.
A window over midnight belongs to the day on which it begins.
"""

from __future__ import annotations

from datetime import UTC, timedelta

from errands.model.errors import BadValue
from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime, tzinfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOW = "Write active hours like 9-17, 09:00-17:30, 22-6 or 'Mon-Fri 9-17'."
_DAY = 24 * 60


@record
class Hours:
    """`start` and `end` are minutes of the day, `days` are numbers from Monday, 0."""

    days: tuple[int, ...]
    start: int
    end: int


def parse_hours(text: str) -> Hours:
    *days, span = text.strip().lower().split()[-2:] or [""]
    first, dash, last = span.partition("-")
    if not dash or len(text.split()) > 2:
        raise BadValue(f"{text!r} is not a range of hours. {_HOW}")
    start, end = _minutes(first, text), _minutes(last, text)
    if start in (end, _DAY):
        raise BadValue(f"{text!r} is not part of a day; leave it out for the whole day. {_HOW}")
    return Hours(days=_days(days[0], text) if days else tuple(range(7)), start=start, end=end)


def is_within(hours: Hours, moment: datetime, zone: tzinfo) -> bool:
    wall = moment.astimezone(zone)
    minute, day = wall.hour * 60 + wall.minute, wall.weekday()
    if hours.start < hours.end:
        return day in hours.days and hours.start <= minute < hours.end
    return (day in hours.days and minute >= hours.start) or (
        (day - 1) % 7 in hours.days and minute < hours.end
    )


def next_start(hours: Hours, moment: datetime, zone: tzinfo) -> datetime:
    """Return when active hours begin next after a moment; in a gap of the clock, at its end."""
    wall = moment.astimezone(zone).replace(tzinfo=None)
    midnight = wall.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    day = midnight
    while True:
        begins = (day + timedelta(minutes=hours.start)).replace(tzinfo=zone).astimezone(UTC)
        if day.weekday() in hours.days and begins > moment:
            return begins
        day += timedelta(days=1)


def _minutes(text: str, whole: str) -> int:
    hour, colon, minute = text.partition(":")
    good = hour.isdecimal() and len(hour) <= 2 and (not colon or (minute.isdecimal() and len(minute) == 2))
    if not good or not text.isascii():
        raise BadValue(f"{whole!r} is not a range of hours: {text!r} is not a time of day. {_HOW}")
    minutes = int(hour) * 60 + int(minute or 0)
    if minutes > _DAY or int(minute or 0) > 59:
        what = "time" if colon else "hour"
        raise BadValue(f"{whole!r} is not a range of hours: there is no {what} {text}. {_HOW}")
    return minutes


def _days(text: str, whole: str) -> tuple[int, ...]:
    found: set[int] = set()
    for each in text.split(","):
        first, dash, last = each.partition("-")
        if first not in DAYS or (dash and last not in DAYS):
            raise BadValue(f"{whole!r} is not a range of hours: {each!r} is not a day like Mon. {_HOW}")
        begin, length = DAYS.index(first), 0
        if dash:
            length = (DAYS.index(last) - begin) % 7
        found.update((begin + step) % 7 for step in range(length + 1))
    return tuple(sorted(found))
