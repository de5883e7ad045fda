"""logs: the output of a task, from the beginning, the end or an offset."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.display.pending import why_pending
from errands.frontends.cli.live.follow import follow, show_from
from errands.frontends.cli.live.output_filter import Bare, OutputFilter
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, operand, option, whole
from errands.frontends.cli.targets import fleet_tasks, newest_task, resolved, run_of
from errands.model.errors import NotFound, UnknownTask
from errands.model.states import ENDED, predicate
from errands.model.text.sanitise import line
from errands.model.view import RunView, View, plain_fields
from errands.text import size
from errands.text.describe import now, waits_for


def logs(context: Context, arguments: Arguments) -> int:
    if arguments.tail is not None and arguments.offset is not None:
        raise Usage("give either --tail or --offset, not both")
    if arguments.json and (arguments.follow or arguments.raw):
        raise Usage("--json prints one object; leave out --follow and --raw")
    if len(arguments.id) > 1 and arguments.follow:
        raise Usage("only one task can be followed at a time; leave out --follow, or all ids but one")
    given = arguments.id or (newest_task(context, STARTED, "has started"),)
    for number, each in enumerate(given):
        if len(given) > 1 and not arguments.json:
            context.say(*([""] if number else []), context.look.paint(f"==> {line(each)} <==", "bold"))
        _logs(context, arguments, each)
    return 0


def _logs(context: Context, arguments: Arguments, given: str) -> None:
    beginning, dot, number = given.partition(".")
    try:
        view = context.engine.get(resolved(context, beginning))
    except UnknownTask as error:
        return fleet_tasks(context, error).logs(given, arguments)
    given = f"{view.id}{dot}{number}"
    run = _run(context, view, given)
    if not run.number:
        raise NotFound(f"{view.id} has not run yet: {_unrun(view)}  (errands show {view.id})")
    if arguments.json:
        return _as_json(context, view, run, arguments)
    output = Bare() if arguments.raw else OutputFilter(context, context.engine.mask(view.id))
    try:
        offset = arguments.offset or 0
        if arguments.tail is not None:
            piece = context.engine.tail(run.id, arguments.tail)
            output.show(piece)
            offset = piece.next_offset
        if run.state == "pending":
            context.note(f"{view.id} has not started: {why_pending(context, view)}")
        if arguments.follow:
            follow(context, run.id, output, offset=offset)
        elif arguments.tail is None:
            show_from(context, run.id, output, offset)
    finally:
        output.close()
    if not arguments.offset:
        _note_silence(context, _run(context, context.engine.get(view.id), given))
    context.engine.mark_retrieved(context.engine.get(view.id))


def _note_silence(context: Context, run: RunView) -> None:
    """Say that there is no output, and why; fail if there was some."""
    if run.state == "pending":
        return
    if run.bytes:
        is_written = run.completed_at is not None and not run.output_failed
        if is_written and not context.engine.output(run.id, limit=1).content:
            raise NotFound(
                f"the output of {run.id} ({size(run.bytes)}) is gone: {run.output_file} was removed"
            )
        return
    if run.completed_at is not None:
        context.note(f"{run.id} printed nothing" + (f": {line(run.error)}" if run.error else ""))
    elif not context.engine.output(run.id, limit=1).content:
        context.note(f"{run.id} has printed nothing yet")


def _run(context: Context, view: View, given: str) -> RunView:
    """Return the run with the given id, such as `pytest-7k2m4x.2`, or the latest run of the task."""
    number = given.partition(".")[2]
    return run_of(context, view, number) if number else view.latest


def _unrun(view: View) -> str:
    """Return when a recurring task first runs, or why it does not."""
    return (
        waits_for(view, at=now()) if view.state in ("active", "proposed") else f"it {predicate(view.state)}"
    )


def _as_json(context: Context, view: View, run: RunView, arguments: Arguments) -> None:
    """Print one piece of output and the offset to continue at, so that polling repeats nothing."""
    from errands.frontends.cli.live.output_filter import clean

    engine = context.engine
    if arguments.tail is not None:
        piece = engine.tail(run.id, arguments.tail)
    else:
        piece = engine.output(run.id, offset=arguments.offset or 0)
    output = clean(context, view, piece, colour=False)
    context.print_json(
        {
            "id": view.id,
            "run_id": run.id,
            "state": run.state,
            "output": output,
            **plain_fields(piece, ("offset", "next_offset", "missing")),
        }
    )


STARTED = ("running", "resumed", *ENDED)

VERBS = (
    Verb(
        name="logs",
        summary="print the output of a task",
        run=logs,
        fields=("id", "run_id", "state", "output", "offset", "next_offset", "missing"),
        details="Without an id, prints the output of the newest task that has started. Secrets are masked, "
        "and control sequences other than colours are removed; --raw prints the exact bytes. --follow ends "
        "when the run ends, or with Ctrl-C, which does not affect the task.",
        options=(
            option("-f, --follow", "keep printing until the run ends"),
            option("-n, --tail N", "start with the last N lines", convert=whole),
            option("--offset BYTE", "start at this byte; --json prints where to continue", convert=whole),
            option("--raw", "the raw bytes, nothing masked or removed"),
            JSON_FIELDS,
        ),
        operands=(operand("[ID...]", "the tasks, or one run of a task: pytest-7k2m4x.2", completes="tasks"),),
        examples=(
            ("errands logs -f pytest-7k", "watch it live"),
            ("errands logs --tail 50 pytest-7k", "the last 50 lines"),
        ),
    ),
)
