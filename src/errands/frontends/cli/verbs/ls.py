"""ls: the tasks: running ones, what starts next, and the most recently ended."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.display.listing import (
    COLUMNS,
    STATES,
    USUAL,
    Wanted,
    in_states,
    list_lines,
)
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, option, whole_from_one
from errands.model.errors import BadValue
from errands.model.states import EVERY_STATE
from errands.model.text.duration import parse_since
from errands.model.view import View
from errands.ports.store import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

LEFT = 5  # lines of a terminal that the prompt and the lines below a list need


def ls(context: Context, arguments: Arguments) -> int:
    if arguments.fleet:
        from errands.frontends.cli.verbs.host import list_placed

        return list_placed(context, arguments)
    if arguments.json and (arguments.watch or arguments.columns):
        other = "--watch" if arguments.watch else "--columns"
        raise Usage(f"give either {other} or --json, not both")
    if arguments.json:
        if arguments.json is not True:
            _fields("--json", arguments.json)  # a list has fewer of them than a task alone
        for view in _every_match(context, arguments):
            context.print_view(view)
        return 0
    wanted = _wanted(context, arguments)
    if arguments.watch:
        return _watch(context, wanted)
    context.say(*list_lines(context, wanted))
    return 0


def _wanted(context: Context, arguments: Arguments) -> Wanted:
    columns = _fields("--columns", arguments.columns) if arguments.columns else tuple(COLUMNS)
    return Wanted(
        states=arguments.state,
        batch=arguments.batch,
        lane=arguments.lane,
        since=_since(context, arguments),
        everything=arguments.all,
        number=arguments.number,
        columns=columns,
        rows=min(max(context.rows - LEFT, LEFT), USUAL) if context.rows else USUAL,
    )


def _since(context: Context, arguments: Arguments) -> datetime | None:
    if arguments.since is None:
        return None
    try:
        return parse_since(arguments.since, now=context.engine.clock.now())
    except BadValue as error:
        raise Usage(f"--since: {error}") from None


def _fields(flag: str, text: str) -> tuple[str, ...]:
    from errands.frontends.cli.display.json_fields import ALWAYS, wanted_fields

    known = tuple(ALWAYS) if flag == "--json" else tuple(dict.fromkeys((*COLUMNS, *ALWAYS)))
    return wanted_fields(text, known, flag=flag)


def _every_match(context: Context, arguments: Arguments) -> list[View]:
    """List all selected tasks for a script, newest first; rejected ones only if everything is wanted."""
    every = EVERY_STATE if arguments.all else ()
    query = Query(
        states=arguments.state or every,
        batch=arguments.batch,
        lane=arguments.lane,
        since=_since(context, arguments),
        limit=arguments.number,
    )
    views = in_states(context, query)
    if "proposed" not in arguments.state:
        return views
    asked = context.engine.answerable(batch=arguments.batch)
    found = {view.id: view for view in (*views, *(each for each in asked if query.lane in (None, each.lane)))}
    return sorted(found.values(), key=lambda view: view.created_at, reverse=True)[: arguments.number]


def _watch(context: Context, wanted: Wanted) -> int:
    """Redraw the table whenever something changes, until Ctrl-C."""
    import sys

    from errands.frontends.cli.live.follow import Watch

    if not sys.stdout.isatty():
        raise Usage("--watch needs a terminal; use `errands ls --json` instead")
    watch = Watch(context, ["*"])
    start = "\x1b[H\x1b[2J"
    try:
        while True:
            context = context.with_look(None)  # the window may have another size now
            lines = list_lines(context, wanted, height=max((context.rows or 24) - 1, 2))
            hint = context.look.paint("Ctrl-C quits", "dim")
            # Only the first frame clears the screen: terminals move what is cleared into the history.
            sys.stdout.write(start + "\n".join(f"{each}\x1b[K" for each in (*lines, hint)) + "\x1b[J")
            sys.stdout.flush()
            start = "\x1b[H"
            watch.news(1.0)
    except KeyboardInterrupt:
        sys.stdout.write("\n")
        return 0


VERBS = (
    Verb(
        name="ls",
        summary="list tasks: running ones, what starts next, and the most recently ended",
        run=ls,
        options=(
            option(
                "--state STATE",
                "only tasks in this state; proposed: everything waiting for approval, including "
                "calls of agents",
                choices=STATES,
                repeat=True,
            ),
            option("--batch NAME", "only tasks of this batch", completes="batches"),
            option("--lane LANE", "only tasks of this lane", completes="lanes"),
            option(
                "--since TIME",
                "only tasks that had not ended by then: 2h, today, yesterday, 09:00 or 2026-11-15",
            ),
            option("-a, --all", "every task, rejected ones too, and the commands of agents under them"),
            option("-n, --number N", "only the newest N", convert=whole_from_one),
            option("-w, --watch", "keep running and show changes as they happen"),
            option("--fleet", "what every home of the fleet has placed on other hosts"),
            option(
                "--columns NAMES",
                f"show these columns, separated by commas: {', '.join(COLUMNS)}, or any field of --json",
            ),
            JSON_FIELDS,
        ),
        details="Running tasks come first, then those waiting for approval, then what starts next, then "
        f"what ended, newest first: {USUAL} rows, or as many as fit the terminal. Below are the lanes with "
        "their used and total slots, and the batches that are not complete. The "
        "commands that an agent runs are part of its task: they are listed under it while they run or wait "
        "for approval, and with --all and --json. A narrow terminal leaves out the less important columns "
        "and shortens ids: to a beginning or, if other ids begin the same way, in the middle, as in "
        "py…7k2m4x. Every command takes both forms; … can be typed as ~.",
        examples=(
            ("errands ls --state running", "running now"),
            ("errands ls --state proposed", "waiting for approval"),
            ("errands ls --state active", "recurring tasks"),
            ("errands ls --state failed --since yesterday", "what failed since yesterday's midnight"),
            ("errands ls --columns id,state,lane,command", "other columns"),
            (
                "errands ls --batch nightly --json id,exit_code",
                "for scripts: one object per line, these fields",
            ),
            ("watch errands ls", "keeps the width of the window when piped"),
        ),
    ),
)
