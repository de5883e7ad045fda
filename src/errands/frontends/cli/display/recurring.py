"""Recurring tasks in the terminal: when one would run, when it runs next, and the health of its watch."""

from __future__ import annotations

from datetime import datetime

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments
from errands.model.notices.notice import REPORTS
from errands.model.text.sanitise import line
from errands.model.view import View
from errands.text.describe import local, now, reporter, until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.model.options.draft import Draft


def show_preview(context: Context, arguments: Arguments, draft: Draft) -> int:
    """Print when a draft would run."""
    from errands.model.trigger import described
    from errands.model.view import plain_value

    trigger, times = context.engine.schedules.preview(draft)
    if draft.at is not None:
        times = [draft.at]
    if arguments.json:
        context.print_json(
            {"schedule": described(trigger), "next_runs": [plain_value(each) for each in times]}
        )
        return 0
    context.say(f"{described(trigger)}; nothing is started", *times_lines(times, draft.zone))
    return 0


def times_lines(times: Sequence[datetime], zone: str | None = None) -> list[str]:
    """Write times on the local clock, and on the clock of another zone."""
    at = now()
    return [f"  {local(each)}{_elsewhere(each, zone)}  ({until(each, at=at)})" for each in times]


def _elsewhere(moment: datetime, zone: str | None) -> str:
    from errands.model.schedule.zone import zone_named

    if zone is None:
        return ""
    there = moment.astimezone(zone_named(zone))
    return "" if there.utcoffset() == moment.astimezone().utcoffset() else f" = {there:%H:%M} {zone}"


def say_recurring(context: Context, view: View, word: str = "") -> None:
    """Print the schedule of a task and its next run, so that a mistake is seen at once.

    `word` says what was done to it, if it was not just started.
    """
    standing = view.standing
    assert standing is not None
    name = context.look.paint(view.id, "bold")
    when = "when it happens" if standing.health else "never"
    if standing.next_at is not None:
        when = f"{local(standing.next_at)} ({until(standing.next_at, at=now())})"
    look = context.look
    teller = "this chat" if look.prefix == "/" else reporter(view.owner, reader=context.session)
    reported = f"{teller} reports {REPORTS[view.notify]}"
    word = word or ("watching" if standing.health else "scheduled")
    context.say(
        f"{word} {name}: {line(standing.rule)}; next run {when}  "
        f"({look.command('schedule')} {view.id}; {reported})"
    )
