"""Cron lines: which minutes of a wall clock they mean, also where that clock is changed.

A line that names hours means times of day: one that a clock change skips runs once, right after the change,
and one that comes twice runs the first time. A line with `*` for the hour means every time the clock shows
that minute, so in an hour that comes twice it runs in both.
"""

from __future__ import annotations

from datetime import UTC

from errands.model.errors import BadValue
from errands.model.schedule.zone import zone_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_HOW = "Write minute, hour, day, month and weekday, such as '30 9 * * 1-5', or @daily."


def check_line(line: str) -> str:
    """Give a line as it is kept, in five fields; refuse one that is not understood or never comes true."""
    from datetime import datetime

    text = " ".join(SHORTHANDS.get(line.strip().lower(), line).split())
    if len(text.split()) != 5:
        raise BadValue(f"{line!r} is no cron line: it has {len(text.split())} fields, not 5. {_HOW}")
    first = next(times(text, "UTC", after=datetime(2000, 1, 1, tzinfo=UTC)), None)
    if first is None:
        raise BadValue(f"{line!r} never comes true: there is no such day. {_HOW}")
    return text


def times(line: str, zone: str, *, after: datetime) -> Iterator[datetime]:
    """Yield the times a line means, in UTC, each later than the one before."""
    # It costs more than all the rest of a command, and only cron lines need it.
    from cronsim import CronSim, CronSimError

    try:
        wall = CronSim(_explicit(line), after.astimezone(zone_named(zone)))
    except CronSimError as error:
        raise BadValue(f"{line!r} is no cron line: {str(error).lower()}. {_HOW}") from None
    last = after
    for time in wall:
        moment = time.astimezone(UTC)
        # Whoever asks in the second of two equal hours is shown times of the first.
        if moment > last:
            last = moment
            yield moment


def _explicit(line: str) -> str:
    """Write out the stars of a line that names hours: with one, CronSim would follow every clock change."""
    minute, hour, *rest = line.split()
    if hour != "*":
        minute = minute.replace("*", "0-59", 1) if minute.startswith("*") else minute
        hour = hour.replace("*", "0-23", 1) if hour.startswith("*") else hour
    return " ".join((minute, hour, *rest))
