"""Time zones, by the names of the IANA database."""

from __future__ import annotations

from errands.model.errors import BadValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import tzinfo


def zone_named(name: str) -> tzinfo:
    """Return a time zone by name; raise BadValue with similar names if it is unknown."""
    from datetime import UTC

    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        pass
    near = [each for each in sorted(available_timezones()) if name.lower() in each.lower()][:3]
    maybe = f" (did you mean {', '.join(near)}?)" if near and name else ""
    raise BadValue(f"unknown time zone {name!r}{maybe}; write one like Europe/Vienna or UTC")
