"""logs: what a task printed, from its beginning, its end or an offset."""

from __future__ import annotations

from errands.frontends.cli.display.format import now, waits_for
from errands.frontends.cli.live.follow import follow, show_from
from errands.frontends.cli.live.output_filter import Bare, OutputFilter
from errands.frontends.cli.parser import JSON, Operand, Option, Usage, Verb, whole
from errands.model.errors import NotFound
from errands.model.text.sanitise import line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.view import RunView, View


def logs(context: Context, arguments: Arguments) -> int:
    if arguments.tail is not None and arguments.offset is not None:
        raise Usage("--tail and --offset exclude each other; give one of them")
    if arguments.json and (arguments.follow or arguments.raw):
        raise Usage("--json gives one object; leave out --follow and --raw")
    view = context.engine.get(arguments.id.partition(".")[0])
    run = _run(context, view, arguments.id)
    if not run.number:
        raise NotFound(f"{view.id} has not run yet: {_unrun(view)}  (errands show {view.id})")
    if arguments.json:
        return _as_json(context, view, run, arguments)
    lens = Bare() if arguments.raw else OutputFilter(context, view)
    try:
        offset = arguments.offset or 0
        if arguments.tail is not None:
            piece = context.engine.tail(run.id, arguments.tail)
            lens.show(piece.content)
            offset = piece.next_offset
        if run.state == "pending":
            context.note(f"{view.id} has not started: {waits_for(view, at=now())}")
        if arguments.follow:
            follow(context, run.id, lens, offset=offset)
        elif arguments.tail is None:
            show_from(context, run.id, lens, offset)
    finally:
        lens.close()
    if not arguments.offset:
        _tell_of_silence(context, _run(context, context.engine.get(view.id), arguments.id))
    context.engine.mark_retrieved(context.engine.get(view.id))
    return 0


def _tell_of_silence(context: Context, run: RunView) -> None:
    """Say that there is nothing to see, and why, lest anybody think that something is broken."""
    if run.bytes or run.state == "pending":
        return
    if run.completed_at is not None:
        context.note(f"{run.id} printed nothing" + (f": {line(run.error)}" if run.error else ""))
    elif not context.engine.output(run.id, limit=1).content:
        context.note(f"{run.id} has printed nothing yet")


def _run(context: Context, view: View, given: str) -> RunView:
    """The run that was asked for, `pytest-7k2m4x.2`, or the latest."""
    number = given.partition(".")[2]
    if not number:
        return view.latest
    for run in view.history if view.standing is None else context.engine.history(view.id):
        if str(run.number) == number:
            return run
    raise NotFound(f"{view.id} has no run {number[:20]!r}; errands show {view.id} lists its runs")


def _unrun(view: View) -> str:
    """Say when a standing task has its first run, or why it has none."""
    return waits_for(view, at=now()) if view.state in ("active", "proposed") else f"it is {view.state}"


def _as_json(context: Context, view: View, run: RunView, arguments: Arguments) -> int:
    """One piece, and where to go on, so that a poll repeats nothing."""
    from errands.frontends.cli.live.output_filter import clean

    engine = context.engine
    if arguments.tail is not None:
        piece = engine.tail(run.id, arguments.tail)
    else:
        piece = engine.output(run.id, offset=arguments.offset or 0)
    context.tell_json(
        {
            "id": view.id,
            "run_id": run.id,
            "state": run.state,
            "output": clean(context, view, piece.content, colour=False),
            "offset": piece.offset,
            "next_offset": piece.next_offset,
            "missing": piece.missing,
        }
    )
    return 0


VERBS = (
    Verb(
        name="logs",
        summary="print what a task has printed",
        run=logs,
        details="Secrets are masked and control sequences other than colour are taken out; --raw prints the "
        "very bytes. Following ends when the run ends, or with Ctrl-C; the task does not notice.",
        options=(
            Option(flags=("-f", "--follow"), help="go on until the run ends"),
            Option(flags=("-n", "--tail"), metavar="N", convert=whole, help="begin with the last N lines"),
            Option(
                flags=("--offset",),
                metavar="BYTE",
                convert=whole,
                help="begin here; --json tells where to go on",
            ),
            Option(flags=("--raw",), help="the bytes as they are, nothing masked or taken out"),
            JSON,
        ),
        operands=(
            Operand(metavar="ID", help="the task, or one run of it: pytest-7k2m4x.2", completes="tasks"),
        ),
        examples=(
            ("errands logs -f pytest-7k", "watch it live"),
            ("errands logs --tail 50 pytest-7k", "the last 50 lines"),
        ),
    ),
)
