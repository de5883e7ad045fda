"""The trigger that a draft asks for, in the time zone of the draft, the configuration or the caller."""

from __future__ import annotations

import os

from errands.model.trigger import At, Now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from errands.config import Config
    from errands.model.options.draft import Draft
    from errands.model.task import Task
    from errands.model.trigger import Trigger

_LINK = "/etc/localtime"
_NAME = "/etc/timezone"


def drafted_trigger(draft: Draft, config: Config, *, now: datetime) -> Trigger:
    if draft.every is None and draft.cron is None and draft.on is None:
        return Now() if draft.at is None else At(time=draft.at)
    from errands.model.schedule.recurring import trigger_of

    zone = own_zone(config, os.environ if draft.environ is None else draft.environ)
    return trigger_of(draft, now=now, zone=zone)


def own_zone(config: Config, environ: Mapping[str, str]) -> str:
    """Return the zone of schedules that name none."""
    zone = config.schedules.zone
    return local_zone(environ) if zone == "local" else zone


def due_time(task: Task, now: datetime) -> datetime | None:
    """Return when a task is to start, if that is later than now."""
    return task.due_at if task.due_at is not None and task.due_at > now else None


def local_zone(environ: Mapping[str, str]) -> str:
    """Return the name of the zone in TZ, or of the machine's; UTC for one without a name."""
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
