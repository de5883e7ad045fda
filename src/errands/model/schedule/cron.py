"""Cron lines: the minutes of a wall clock at which they fire, across clock changes too.

A line that names hours means times of day: one skipped by a clock change fires once, right after the change,
and one that occurs twice fires the first time. A line with `*` for the hour fires whenever the clock shows
that minute, so it fires in both of two equal hours.
"""

from __future__ import annotations

from datetime import UTC, datetime

from errands.model.errors import BadValue
from errands.model.schedule.zone import zone_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Return a line as it is stored, in five fields; raise BadValue if it is invalid or never fires."""
    text = " ".join(SHORTHANDS.get(line.strip().lower(), line).split())
    fields = len(text.split())
    if fields != 5:
        words = f"the words for one are {', '.join(SHORTHANDS)}"
        why = words if fields == 1 else f"it has {fields} fields instead of 5"
        raise BadValue(f"{line!r} is not a cron line: {why}. {_HOW}")
    minute, hour, day, month, weekday = text.split()
    try:
        first = next(times(text, "UTC", after=datetime(2000, 1, 1, tzinfo=UTC)), None)
    except BadValue:
        if not (_is_valid(f"{minute} {hour} {day} * {weekday}") and _is_valid(f"0 0 1 {month} *")):
            raise
        first = None  # every field is right, but not their combination
    if first is None:
        raise BadValue(f"{line!r} never fires: that day does not exist. {_HOW}")
    return text


def _is_valid(line: str) -> bool:
    from cronsim import CronSim, CronSimError

    try:
        CronSim(_explicit(line), datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError:
        return False
    return True


def times(line: str, zone: str, *, after: datetime) -> Iterator[datetime]:
    """Yield the times at which a line fires, in UTC, in ascending order."""
    # Importing it takes longer than a whole command, and only cron lines need it.
    from cronsim import CronSim, CronSimError

    try:
        wall = CronSim(_explicit(line), after.astimezone(zone_named(zone)))
    except CronSimError as error:
        raise BadValue(f"{line!r} is not a cron line: {str(error).lower()}. {_HOW}") from None
    last = after
    for time in wall:
        moment = time.astimezone(UTC)
        # When asked in the second of two equal hours, CronSim returns times of the first as well.
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
