"""Repeating: the options that make a task run again and again, and what is said of one that does."""

from __future__ import annotations

from errands.frontends.cli.display.format import ago, local, now
from errands.frontends.cli.parser import Option, Usage, whole_from_one
from errands.model.text.duration import parse_duration
from errands.model.text.sanitise import line
from errands.model.trigger import MISFIRES
from errands.text import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from typing import Any

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.options.draft import Draft
    from errands.model.view import View


def on_option(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Usage(f"{text!r} is no option of a source; write NAME=VALUE, such as every=1m")
    return name, value


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
        help="the time zone of the schedule or of --at, such as Europe/Vienna (default schedules.zone)",
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

# What makes a task wait for events; the same.
EVENT = (
    Option(
        flags=("--on",),
        metavar="SOURCE:SUBJECT",
        help="run it whenever this happens: file:PATTERN, command:LINE, github:OWNER/REPOSITORY, "
        "webhook:NAME or task:ID",
        completes="sources",
    ),
    Option(
        flags=("--on-option",),
        metavar="NAME=VALUE",
        convert=on_option,
        repeat=True,
        help="an option of the source, such as every=1m or events=created (docs/events.md)",
    ),
    Option(
        flags=("--debounce",),
        metavar="DURATION",
        convert=parse_duration,
        help="how long nothing more must happen before it runs (default 2s)",
    ),
    Option(
        flags=("--max-wait",),
        metavar="DURATION",
        convert=parse_duration,
        help="run it so long after the first of a burst at the latest (default 30s)",
    ),
    Option(
        flags=("--rate",),
        metavar="N",
        convert=whole_from_one,
        help="at most so many runs in an hour; what happens beyond waits (default 60)",
    ),
)

PREVIEW = Option(flags=("--preview",), help="say when it would run, and start nothing")


def schedule_of(arguments: Arguments) -> dict[str, Any]:
    """The fields of a draft that make it run again and again."""
    _check_company(arguments)
    return {
        "every": arguments.every,
        "cron": arguments.cron,
        "zone": arguments.tz if getattr(arguments, "at", None) is None else None,
        "hours": arguments.active_hours,
        "jitter": arguments.jitter,
        "misfire": arguments.misfire,
        "max_age": arguments.max_age,
        "max_runs": arguments.max_runs,
        "on": arguments.on,
        "on_options": dict(arguments.on_option) or None,
        "debounce": arguments.debounce,
        "max_wait": arguments.max_wait,
        "rate": arguments.rate,
    }


def _check_company(arguments: Arguments) -> None:
    """Refuse an option without the one it belongs to, in the words that were typed."""
    is_scheduled = arguments.every is not None or arguments.cron is not None
    is_watching = arguments.on is not None
    for option in (*SCHEDULE, *EVENT):
        flag = option.flags[0]
        if getattr(arguments, option.name) in (None, ()) or flag in ("--every", "--cron", "--on"):
            continue
        if flag == "--max-runs":
            if not is_scheduled and not is_watching:
                raise Usage(
                    f"{flag} is about a task that runs again and again; give --every, --cron or --on too"
                )
        elif option in EVENT:
            if not is_watching:
                raise Usage(f"{flag} is about an event; give --on too, or leave it out")
        elif not is_scheduled and not (flag == "--tz" and getattr(arguments, "at", None) is not None):
            also = ", or --at" if flag == "--tz" else ""
            raise Usage(f"{flag} is about a schedule; give --every or --cron too{also}, or leave it out")


def start_time(arguments: Arguments) -> datetime:
    """Read when a task shall start, on the clock of whoever types it or of the zone they name."""
    from errands.model.schedule.zone import zone_named
    from errands.model.text.duration import parse_time

    name = getattr(arguments, "tz", None)
    return parse_time(arguments.at, now=now(), zone=None if name is None else zone_named(name))


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
    from errands.model.schedule.zone import zone_named

    if zone is None:
        return ""
    there = moment.astimezone(zone_named(zone))
    return "" if there.utcoffset() == moment.astimezone().utcoffset() else f" = {there:%H:%M} {zone}"


def watch_facts(view: View, at: datetime) -> Iterator[tuple[str, str]]:
    """Say how the watch of a task that waits for events fares."""
    watch = (view.details or {}).get("watch")
    if watch is None or view.standing is None:
        return
    fares = watch["health"]
    if watch["failures"]:
        fares += f", {plural(watch['failures'], 'look')} in a row failed"
    yield "watch", f"{fares}: {line(watch['error'])}" if watch["error"] else fares
    if view.standing.checked_at is not None:
        yield "last look", f"{local(view.standing.checked_at)} ({ago(view.standing.checked_at, at=at)})"
    last = watch["last_event"]
    if last is not None and view.standing.signal_at is not None:
        yield "last event", f"{line(last.get('text', ''))} ({ago(view.standing.signal_at, at=at)})"
    if watch["waiting"]:
        yield "waiting", f"{plural(watch['waiting'], 'signal')} for a run"


def say_standing(context: Context, view: View) -> None:
    """Say that a task runs again and again, and when next: whoever meant something else sees it at once."""
    standing = view.standing
    assert standing is not None
    name = context.look.paint(view.id, "bold")
    when = "when it happens" if standing.health else "never"
    if standing.next_at is not None:
        when = f"{local(standing.next_at)} ({ago(standing.next_at, at=now())})"
    told = {
        "never": f"errands show {view.id} tells what became of it",
        "on_failure": "errands notices tells if it fails",
        "on_change": "errands notices tells what is new",
    }.get(view.notify, "errands notices tells each end")
    word = "watching" if standing.health else "scheduled"
    context.say(
        f"{word} {name}: {line(standing.rule)}; next run {when}  (errands schedule {view.id}; {told})"
    )
