"""Durations, sizes and times, as people write and read them.

Nothing is guessed: what is not fully understood is refused, with how to write it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from errands.model.errors import BadValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import tzinfo

_HOW_DURATION = "Write it like 30s, 5m, 1h30m, 2d or 500ms; a plain number means seconds."
_HOW_SIZE = "Write it like 512K, 256M or 2G; a plain number means bytes."
_HOW_TIME = "Write it like 2026-11-15T09:00, 09:00, 9am, 'tomorrow 09:00', 'friday noon', 'in 10m' or +10m."
_HOW_SINCE = "Write it like 2h, today, yesterday, 09:00 or 2026-11-15."

_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_LONG_UNITS = {
    "s": ("sec", "secs", "second", "seconds"),
    "m": ("min", "mins", "minute", "minutes"),
    "h": ("hr", "hrs", "hour", "hours"),
    "d": ("day", "days"),
    "w": ("week", "weeks"),
}
_UNIT_NAMES = {name: unit for unit, names in _LONG_UNITS.items() for name in names} | {u: u for u in _UNITS}
_RATES = {"hourly": "h", "daily": "d", "weekly": "w"}
_LONGEST = timedelta(days=36_500)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = {name: number for number, day in enumerate(_WEEKDAYS) for name in (day, day[:3])}
_CLOCKS = {"noon": (12, 0, 0), "midnight": (0, 0, 0)}

_SIZES = {"": 1, "b": 1} | {
    prefix + suffix: 1024**power for power, prefix in enumerate("kmgt", start=1) for suffix in ("", "b", "ib")
}
_LARGEST = 1024**6


def parse_duration(text: str) -> timedelta:
    """Parse a duration: one or more numbers with units, largest unit first, or plain seconds."""
    rest = text.strip().lower()
    if not rest:
        raise BadValue(f"the duration is empty. {_HOW_DURATION}")
    if _is_number(rest):
        return _bounded(float(rest), _UNITS["s"], text)
    total = timedelta()
    smallest: timedelta | None = None
    while rest:
        number, rest = _leading(rest, "0123456789.")
        word, rest = _leading(rest.lstrip(), "abcdefghijklmnopqrstuvwxyz")
        rest = rest.lstrip()
        if not _is_number(number):
            unit_name = "" if number else _UNIT_NAMES.get(word) or _RATES.get(word, "")
            one = f": write 1{unit_name}" if unit_name else ""
            raise BadValue(f"{text!r} is not a duration{one}. {_HOW_DURATION}")
        if word not in _UNIT_NAMES:
            problem = f"{word!r} is not a unit" if word else f"{number} has no unit"
            raise BadValue(f"{text!r} is not a duration: {problem}. {_HOW_DURATION}")
        unit = _UNITS[_UNIT_NAMES[word]]
        if smallest is not None and unit >= smallest:
            raise BadValue(f"{text!r} is not a duration: {word!r} must come earlier. {_HOW_DURATION}")
        total += _bounded(float(number), unit, text)
        smallest = unit
    return total


def parse_size(text: str) -> int:
    """Parse a size in bytes; K, M, G and T are powers of 1024."""
    number, unit = _leading(text.strip().lower(), "0123456789.")
    unit = unit.strip()
    if not _is_number(number) or unit not in _SIZES:
        raise BadValue(f"{text!r} is not a size. {_HOW_SIZE}")
    size = float(number) * _SIZES[unit]
    if size > _LARGEST:
        raise BadValue(f"{text!r} is more than any machine has. {_HOW_SIZE}")
    return int(size)


def exact_size(count: int) -> str:
    """Write a size without rounding, as `parse_size` reads it: `10MiB`, or a plain number of bytes."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and count % factor == 0:
            return f"{count // factor}{unit}"
    return str(count)


def parse_time(text: str, *, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Parse a point in time, in UTC.

    A time without an offset is a wall-clock time in `zone` (the machine's own if None, with its summer time);
    a time of day, alone or on a weekday, is its next occurrence after `now`.
    """
    words = text.strip().lower().replace(" at ", " ").split(maxsplit=1)
    match words:
        case ["now"]:
            return now.astimezone(UTC)
        case ["in", rest]:
            return now.astimezone(UTC) + parse_duration(rest)
        case [only] if only.startswith("+"):
            return now.astimezone(UTC) + parse_duration(only[1:])
        case ["today" | "tomorrow" as day, rest] if (clock := _clock(rest)) is not None:
            return _on_the_wall(now, zone, days=int(day == "tomorrow"), clock=clock)
        case [day, rest] if day in _WEEKDAY and (clock := _clock(rest)) is not None:
            days = (_WEEKDAY[day] - now.astimezone(zone).weekday()) % 7
            soonest = _on_the_wall(now, zone, days=days, clock=clock)
            return soonest if soonest > now else _on_the_wall(now, zone, days=days + 7, clock=clock)
    if (clock := _clock(" ".join(words))) is not None:
        today = _on_the_wall(now, zone, days=0, clock=clock)
        return today if today > now else _on_the_wall(now, zone, days=1, clock=clock)
    return _iso(text, zone)


def parse_since(text: str, *, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Parse a point in time that has passed, in UTC: how long ago it was, a day, or a time.

    A time of day alone is its last occurrence before `now`; a day alone begins at midnight.
    """
    words = text.strip().lower().split(maxsplit=1)
    match words:
        case ["today" | "yesterday" as day, *rest] if (clock := _clock("".join(rest) or "0:00")) is not None:
            return _on_the_wall(now, zone, days=-int(day == "yesterday"), clock=clock)
        case [only] if (clock := _clock(only)) is not None:
            today = _on_the_wall(now, zone, days=0, clock=clock)
            return today if today <= now else _on_the_wall(now, zone, days=-1, clock=clock)
    try:
        return _iso(text, zone) if "-" in text else now.astimezone(UTC) - parse_duration(text)
    except BadValue:
        raise BadValue(f"{text!r} is not a time that has passed. {_HOW_SINCE}") from None


def spoken(duration: timedelta) -> str:
    """Return a duration in at most two units, rounded down: `3m 42s`, `2h 5m`, `4.2s`, `120ms`."""
    thousandths = max(0, duration // timedelta(milliseconds=1))
    seconds = thousandths // 1000
    if thousandths < 1000:
        return f"{thousandths}ms" if thousandths else "0s"
    if seconds < 10:
        return f"{seconds}.{thousandths % 1000 // 100}s"
    for unit, length, next_unit, next_length in (
        ("d", 86_400, "h", 3600),
        ("h", 3600, "m", 60),
        ("m", 60, "s", 1),
    ):
        if seconds >= length:
            rest = seconds % length // next_length
            return f"{seconds // length}{unit}" + (f" {rest}{next_unit}" if rest else "")
    return f"{seconds}s"


def upcoming(gap: timedelta) -> str:
    """Return how long until something happens, rounded as people say it: `in 14 min`, `in 2 h 5 min`.

    What happens within minutes has seconds, so that times that follow each other differ.
    """
    seconds = max(1, round(gap.total_seconds()))
    if seconds < 60:
        return f"in {seconds} s"
    if seconds < 300 and seconds % 60:
        return f"in {seconds // 60} min {seconds % 60} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"in {minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"in {hours} h" + (f" {minutes} min" if minutes else "")
    days, hours = divmod(round(seconds / 3600), 24)
    return f"in {days} day{'' if days == 1 else 's'}" + (f" {hours} h" if hours else "")


def exact(duration: timedelta) -> str:
    """Return a duration as it can be parsed again, to the millisecond: `90s` is `1m30s`."""
    rest = duration // timedelta(milliseconds=1)
    pieces = ""
    for unit, thousandths in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        if rest >= thousandths:
            pieces += f"{rest // thousandths}{unit}"
            rest %= thousandths
    return pieces or "0s"


def _leading(text: str, letters: str) -> tuple[str, str]:
    rest = text.lstrip(letters)
    return text[: len(text) - len(rest)], rest


def _is_number(text: str) -> bool:
    digits = text.replace(".", "", 1)
    return digits.isascii() and digits.isdigit() and len(digits) < 20


def _bounded(number: float, unit: timedelta, text: str) -> timedelta:
    if number > _LONGEST / unit:
        raise BadValue(f"{text!r} is longer than a hundred years. {_HOW_DURATION}")
    return number * unit


def _clock(text: str) -> tuple[int, int, int] | None:
    """Parse noon, midnight, HH:MM or HH:MM:SS; with am or pm the minutes may be missing."""
    if text in _CLOCKS:
        return _CLOCKS[text]
    half = text[-2:] if text.endswith(("am", "pm")) else ""
    parts = text.removesuffix(half).rstrip().split(":")
    if half and len(parts) == 1:
        parts.append("00")
    if len(parts) not in (2, 3) or not all(len(p) in (1, 2) and p.isascii() and p.isdigit() for p in parts):
        return None
    if len(parts[-1]) != 2:
        return None
    hour, minute, second = (*map(int, parts), 0)[:3]
    if half:
        hour = hour % 12 + 12 * (half == "pm") if 1 <= hour <= 12 else 24
    return (hour, minute, second) if hour < 24 and minute < 60 and second < 60 else None


def _on_the_wall(now: datetime, zone: tzinfo | None, *, days: int, clock: tuple[int, int, int]) -> datetime:
    hour, minute, second = clock
    day = now.astimezone(zone).replace(tzinfo=None) + timedelta(days=days)
    return _in_zone(day.replace(hour=hour, minute=minute, second=second, microsecond=0, fold=0), zone)


def _in_zone(wall: datetime, zone: tzinfo | None) -> datetime:
    # A naive datetime is the machine's local time, with the offset of that day.
    return (wall if zone is None else wall.replace(tzinfo=zone)).astimezone(UTC)


def _iso(text: str, zone: tzinfo | None) -> datetime:
    try:
        when = datetime.fromisoformat(text.strip())
        return when.astimezone(UTC) if when.tzinfo else _in_zone(when, zone)
    except (ValueError, OverflowError):
        raise BadValue(f"{text!r} is not a time. {_HOW_TIME}") from None
