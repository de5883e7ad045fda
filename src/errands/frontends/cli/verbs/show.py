"""show: everything about one task, with the end of its output."""

from __future__ import annotations

from datetime import datetime, timedelta

from errands.engine.task_facts import task_facts
from errands.frontends.cli.approval.caller import is_person
from errands.frontends.cli.context import Context
from errands.frontends.cli.live.output_filter import clean
from errands.frontends.cli.parser import JSON_TASKS, Arguments, Verb, operand, option, whole
from errands.frontends.cli.targets import fleet_tasks, newest_task, resolved, run_of
from errands.model.errors import UnknownTask, unknown_task
from errands.model.record import evolve
from errands.model.text.duration import spoken
from errands.model.view import View
from errands.text import Cell, Column, facts, last_output, rule, state_cell, table
from errands.text.describe import ago, local, no_daemon_note, now, result, state_word, took_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# A run that takes input and has been silent for this long probably waits for some.
QUIET = timedelta(seconds=10)
SHOWN = 10  # runs of a task that has a schedule
# What is obvious while a task waits for approval, and what the question shows anyway.
OBVIOUS = ("state", "output")
EXACT = (*OBVIOUS, "command", "before", "finally", "directory", "environment")


def show(context: Context, arguments: Arguments) -> int:
    given = newest_task(context, (), "yet") if arguments.id is None else arguments.id
    name, _, number = given.partition(".")
    if not name:
        raise unknown_task(given)
    try:
        view = context.engine.get(resolved(context, name))
    except UnknownTask as error:
        return fleet_tasks(context, error).show(given, arguments)
    if number:
        view = of_run(context, view, number)
    piece = context.engine.tail(view.latest.id if number else view.id, arguments.lines)
    output = clean(context, view, piece, colour=context.look.colour and not arguments.json)
    context.engine.mark_retrieved(view)
    if arguments.json:
        context.print_view(view, output_tail=output)
        return 0
    look, at = context.look, now()
    state = state_cell(state_word(view), look)
    marks = f" {view.marks}" if view.marks else ""
    shown = view.latest.id if number else view.id
    context.say(f"{look.paint(shown, 'bold')}{marks}  {look.paint(state.text, state.colour)}")
    if warning := no_daemon_note(context.engine.bell.is_answered, [view]):
        context.say(look.paint(warning, "yellow"))
    pairs = task_facts(context.engine, view, look, at=at)
    if view.question is not None or view.state == "proposed":
        pairs = _answerable(context, view, pairs, at)
    mask = context.engine.mask(view.id)
    context.say(*facts(((name, mask.text(value)) for name, value in pairs), look))
    if len(view.history) > 1 and not number:
        context.say("", *_runs(context, view, at))
    if output or (arguments.lines != 0 and view.state != "proposed"):
        _show_output(context, view, output, at)
    return 0


def of_run(context: Context, view: View, number: str) -> View:
    """Return a task as it was with one of its runs."""
    run = run_of(context, view, number)
    if run.id == view.latest.id and view.standing is None:
        return view
    return evolve(view, latest=run, state=run.state, standing=None, progress=None)


def _answerable(
    context: Context, view: View, pairs: Iterator[tuple[str, str]], at: datetime
) -> Iterator[tuple[str, str]]:
    """Add what the person who answers must know; at a terminal, exactly what would run, unmasked."""
    from errands.engine.approval.question_facts import facts_of, masked
    from errands.text.question import question

    if is_person():
        context.say(*question(facts_of(context.engine, context.environ, view), context.look), "")
    elif view.question is not None:
        yield "because", "\n".join(masked(reason.text) for reason in view.question.reasons)
    left_out = EXACT if is_person() else OBVIOUS
    yield from ((name, value) for name, value in pairs if name not in left_out)
    if view.question is not None:
        yield "expires", ago(view.question.expires_at, at=at)
    yield "approve", context.look.command(f"approve {view.id}")
    yield "reject", context.look.command(f"reject {view.id}")


def _runs(context: Context, view: View, at: datetime) -> list[str]:
    columns = (
        Column(title="RUN", right=True),
        Column(title="STATE"),
        Column(title="CAUSE"),
        Column(title="STARTED"),
        Column(title="TOOK", right=True),
        Column(title="RESULT", flex=1),
    )
    rows: list[tuple[str | Cell, ...]] = [
        (
            str(run.number),
            state_cell(run.state, context.look),
            run.cause,
            local(run.started_at) if run.started_at else "",
            took_text(run, at=at),
            result(run),
        )
        for run in (view.history if view.standing is None else view.history[-SHOWN:])
    ]
    return table(columns, rows, context.look)


def _show_output(context: Context, view: View, output: str, at: datetime) -> None:
    run, look = view.latest, context.look
    lines = last_output(output, look)
    if not lines and run.started_at is None:
        return
    context.say("", *(lines or [rule("no output", look)]))
    takes_input = (view.details or {}).get("input", "none") != "none"
    if view.is_paused:
        context.say(f"its processes are suspended: {look.command('unpause')} {view.id}")
    elif takes_input and run.state == "running" and view.activity_at and at - view.activity_at > QUIET:
        silence = spoken(at - view.activity_at)
        context.say(f"silent for {silence}; it may be waiting for input: {look.command('send')} {view.id}")
    if not lines and run.state != "running":
        return
    # In a chat, where it could not be left, following is refused.
    more = look.command("logs -f" if run.state == "running" and look.prefix != "/" else "logs")
    context.say(look.paint(f"full output: {more} {view.id}", "dim"))


VERBS = (
    Verb(
        name="show",
        summary="show everything about a task and the end of its output",
        run=show,
        options=(
            option(
                "-n, --lines N",
                "show the last N lines of output (default 20, or runs.tail_lines)",
                convert=whole,
            ),
            JSON_TASKS,
        ),
        details="Without an id, shows the newest task.",
        operands=(operand("[ID]", "the task, or one run of it: pytest-7k2m4x.2", completes="tasks"),),
    ),
)
