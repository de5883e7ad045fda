"""ls: the tasks, newest first."""

from __future__ import annotations

from errands.frontends.cli.display.format import (
    ago,
    how_to_answer,
    needs_approval,
    no_daemon_note,
    now,
    outcome,
    purpose,
    state_word,
    took_text,
)
from errands.frontends.cli.display.masking import TextMask
from errands.frontends.cli.parser import JSON, Option, Usage, Verb, whole_from_one
from errands.frontends.cli.targets import answerable
from errands.model.states import ENDED, OPEN, STANDING
from errands.model.text.sanitise import line
from errands.ports.store import Query
from errands.text import Cell, Column, state_cell, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.view import View
    from errands.text import Look

USUAL = 20
COLUMNS = (
    Column(title="ID"),
    Column(title="STATE"),
    Column(title="CREATED", right=True),
    Column(title="TOOK", right=True),
    Column(title="DETAIL", flex=2, least=12),
    Column(title="BATCH", flex=1),
    Column(title="DESCRIPTION", flex=1, least=12),
)


def ls(context: Context, arguments: Arguments) -> int:
    if arguments.all and arguments.number:
        raise Usage("give either --all or --number, not both")
    if arguments.json and arguments.watch:
        raise Usage("give either --watch or --json, not both")
    if arguments.json:
        for view in _listed(context, arguments, arguments.number):
            context.print_view(view)
        return 0
    if arguments.watch:
        return _watch(context, arguments)
    context.say(*_lines(context, arguments))
    return 0


def _listed(context: Context, arguments: Arguments, limit: int | None) -> list[View]:
    """List the selected tasks; an agent whose call waits for approval is running and also proposed.

    The commands that agents ran are part of their tasks, so they are left out unless everything is wanted.
    """
    everything = arguments.all or arguments.json
    query = Query(states=arguments.state, batch=arguments.batch, limit=limit, with_commands=everything)
    views = context.engine.list(query)
    if "proposed" not in arguments.state:
        return views
    found = {view.id: view for view in (*views, *answerable(context.engine, batch=arguments.batch))}
    return sorted(found.values(), key=lambda view: view.created_at, reverse=True)[:limit]


def _lines(context: Context, arguments: Arguments) -> list[str]:
    views, more = _selection(context, arguments)
    if not views:
        return [_nothing(arguments, context.look)]
    lines = table(COLUMNS, _rows(context, _nested(views)), context.look)
    proposed = [view.id for view in views if needs_approval(view)]
    if proposed:
        lines.append(context.look.paint(how_to_answer(proposed, context.look), "magenta"))
    if warning := no_daemon_note(context, views):
        lines.append(context.look.paint(warning, "yellow"))
    if more:
        lines.append(
            context.look.paint(f"older tasks are not shown: {context.look.command('ls --all')}", "dim")
        )
    return lines


def _selection(context: Context, arguments: Arguments) -> tuple[list[View], bool]:
    """Return the newest tasks and all that run, recur or wait for approval; and whether some are left out."""
    if arguments.all or arguments.number:
        return _listed(context, arguments, arguments.number), False
    views = _listed(context, arguments, USUAL + 1)
    shown = {view.id for view in views[:USUAL]}
    # Running ones are as few as the lanes are wide; those that wait may be thousands. A command of an agent
    # is shown while it waits for approval, because a person has to see what they approve.
    groups = (("running",), ("proposed",), STANDING) if len(views) > USUAL else (("proposed",),)
    old = [
        view
        for states in groups
        if (wanted := tuple(each for each in states if each in (arguments.state or (each,))))
        for view in context.engine.list(
            Query(states=wanted, batch=arguments.batch, with_commands=states == ("proposed",))
        )
    ]
    return views[:USUAL] + [view for view in old if view.id not in shown], len(views) > USUAL


def _nested(views: Sequence[View]) -> list[View]:
    """Put the commands of agents under them, in the order in which they were run."""
    shown = {view.id for view in views}
    commands: dict[str, list[View]] = {}
    for view in reversed(views):
        if view.agent_task in shown:
            commands.setdefault(view.agent_task or "", []).append(view)
    top = [view for view in views if view.agent_task not in shown]
    return [each for view in top for each in (view, *commands.get(view.id, ()))]


def _rows(context: Context, views: Sequence[View]) -> list[tuple[str | Cell, ...]]:
    at, look, cover = now(), context.look, TextMask(context)
    under = look.sign("└ ", "  ")
    return [
        (
            Cell(
                text=f"{under if view.agent_task else ''}{view.id} {view.marks}".rstrip(),
                colour="" if view.agent_task else "bold",
            ),
            state_cell(state_word(view), look),
            ago(view.created_at, at=at),
            took_text(view.latest, at=at),
            cover.text(view.id, outcome(view, look, at=at)),
            line(view.batch or ""),
            line(cover.text(view.id, purpose(view))),
        )
        for view in views
    ]


def _nothing(arguments: Arguments, look: Look) -> str:
    if arguments.state or arguments.batch:
        return f"no matching tasks; {look.command('ls --all')} lists every task"
    return f"no tasks yet; start one: {look.command('run')} 'make test'"


def _watch(context: Context, arguments: Arguments) -> int:
    """Redraw the table whenever something changes, until Ctrl-C."""
    import os
    import sys

    from errands.frontends.cli.live.follow import Watch

    if not sys.stdout.isatty():
        raise Usage("--watch needs a terminal; use `errands ls --json` instead")
    watch = Watch(context, ["*"])
    try:
        while True:
            lines = _lines(context, arguments)[: max(os.get_terminal_size().lines - 1, 1)]
            hint = context.look.paint("Ctrl-C quits", "dim")
            sys.stdout.write("\x1b[H\x1b[2J" + "\n".join([*lines, hint]))
            sys.stdout.flush()
            watch.news(1.0)
    except KeyboardInterrupt:
        sys.stdout.write("\n")
        return 0


VERBS = (
    Verb(
        name="ls",
        summary="list tasks, newest first",
        run=ls,
        options=(
            Option(
                flags=("--state",),
                metavar="STATE",
                choices=(*OPEN, *ENDED, *STANDING, "done", "rejected"),
                repeat=True,
                help="only tasks in this state; proposed: everything waiting for approval, including "
                "calls of agents",
            ),
            Option(flags=("--batch",), metavar="NAME", help="only tasks of this batch", completes="batches"),
            Option(
                flags=("-a", "--all"),
                help="all tasks, not only live ones and the newest 20, and the commands of agents under them",
            ),
            Option(flags=("-n", "--number"), metavar="N", convert=whole_from_one, help="show at most N"),
            Option(flags=("-w", "--watch"), help="keep running and show changes as they happen"),
            JSON,
        ),
        details="The commands that an agent runs are part of its task: they are listed with --all and "
        "--json, and while they wait for approval.",
        examples=(
            ("errands ls --state running", "running now"),
            ("errands ls --state proposed", "waiting for approval"),
            ("errands ls --state active", "recurring tasks"),
            ("errands ls --batch nightly --json", "one object per line, for scripts"),
        ),
    ),
)
