"""Repeating: the options that make a task run again and again, and what is said of one that does."""

from __future__ import annotations

from errands.frontends.cli.options import Option, whole_from_one
from errands.frontends.cli.showing import ago, local, now
from errands.model.duration import parse_duration
from errands.model.trigger import MISFIRES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.options import Arguments
    from errands.model.draft import Draft
    from errands.model.view import View

# What makes a standing task; templates can have them too.
SCHEDULE = (
    Option(
        flags=("--every",),
        metavar="DURATION",
        convert=parse_duration,
        help="run it again and again, so far apart: 30s, 30m, 2h, 1d",
    ),
    Option(
        flags=("--cron",),
        metavar="LINE",
        help="run it again and again: minute hour day month weekday, such as '30 9 * * 1-5', or @daily",
    ),
    Option(
        flags=("--tz",),
        metavar="ZONE",
        help="the time zone of the schedule, such as Europe/Vienna (default schedules.zone)",
    ),
    Option(
        flags=("--active-hours",),
        metavar="HOURS",
        help="run it only then: 9-17, 22-6 or 'Mon-Fri 9:00-17:30'",
    ),
    Option(
        flags=("--jitter",),
        metavar="DURATION",
        convert=parse_duration,
        help="start up to so much later, for each time as much as always",
    ),
    Option(
        flags=("--misfire",),
        metavar="WHAT",
        choices=MISFIRES,
        help="what runs of the times nobody was there for: the newest, none, all in turn (default once)",
    ),
    Option(
        flags=("--max-age",),
        metavar="DURATION",
        convert=parse_duration,
        help="never run for a time that is longer ago",
    ),
    Option(
        flags=("--max-runs",), metavar="N", convert=whole_from_one, help="end the task after so many runs"
    ),
)

PREVIEW = Option(flags=("--preview",), help="say when it would run, and start nothing")


def schedule_of(arguments: Arguments) -> dict[str, Any]:
    """The fields of a draft that make it run again and again."""
    return {
        "every": arguments.every,
        "cron": arguments.cron,
        "zone": arguments.tz,
        "hours": arguments.active_hours,
        "jitter": arguments.jitter,
        "misfire": arguments.misfire,
        "max_age": arguments.max_age,
        "max_runs": arguments.max_runs,
    }


def show_preview(context: Context, arguments: Arguments, draft: Draft) -> int:
    """Say when a draft would run."""
    from errands.model.trigger import described
    from errands.model.view import plain_value

    trigger, times = context.engine.schedules.preview(draft)
    if draft.at is not None:
        times = [draft.at]
    if arguments.json:
        context.tell_json(
            {"schedule": described(trigger), "next_runs": [plain_value(each) for each in times]}
        )
        return 0
    context.say(f"{described(trigger)}; nothing is started", *times_lines(times, draft.zone))
    return 0


def times_lines(times: Sequence[datetime], zone: str | None = None) -> list[str]:
    """Write times on the clock of whoever reads them, and on that of another zone."""
    at = now()
    return [f"  {local(each)}{_elsewhere(each, zone)}  ({ago(each, at=at)})" for each in times]


def _elsewhere(moment: datetime, zone: str | None) -> str:
    from errands.model.zone import zone_named

    if zone is None:
        return ""
    there = moment.astimezone(zone_named(zone))
    return "" if there.utcoffset() == moment.astimezone().utcoffset() else f" = {there:%H:%M} {zone}"


def say_standing(context: Context, view: View) -> None:
    """Say that a task runs again and again, and when next: whoever meant something else sees it at once."""
    standing = view.standing
    assert standing is not None
    name = context.look.paint(view.id, "bold")
    when = "never"
    if standing.next_at is not None:
        when = f"{local(standing.next_at)} ({ago(standing.next_at, at=now())})"
    told = {
        "never": f"errands show {view.id} tells what became of it",
        "on_failure": "errands notices tells if it fails",
        "on_change": "errands notices tells what is new",
    }.get(view.notify, "errands notices tells each end")
    context.say(f"scheduled {name}: {standing.rule}; next run {when}  (errands schedule {view.id}; {told})")
