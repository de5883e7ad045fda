"""The time zone of whoever starts a task, by its name."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LINK = "/etc/localtime"
_NAME = "/etc/timezone"


def local_zone(environ: Mapping[str, str]) -> str:
    """Name the zone of TZ, or that of the machine; one without a name is taken for UTC."""
    given = environ.get("TZ", "").lstrip(":")
    if given and not given.startswith("/"):
        return given
    _, found, name = os.path.realpath(given or _LINK).partition("zoneinfo/")
    if found:
        return name.removeprefix("posix/").removeprefix("right/")
    try:
        with open(_NAME, encoding="ascii") as file:
            return file.read().strip() or "UTC"
    except (OSError, ValueError):
        return "UTC"
