"""audit: every question that was asked about a command, and who answered it, when and from where."""

from __future__ import annotations

from errands.frontends.cli.options import JSON, Operand, Option, Verb, whole_from_one
from errands.frontends.cli.proposing import told
from errands.frontends.cli.showing import local, result
from errands.model.approval import call_of
from errands.model.errors import NotFound
from errands.model.sanitise import line
from errands.model.view import approval_json
from errands.text import Cell, Column, facts, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.options import Arguments
    from errands.model.approval import Approval
    from errands.text import Colour

USUAL = 50
COLUMNS = (
    Column(title="ASKED"),
    Column(title="TASK"),
    Column(title="ANSWER"),
    Column(title="BY", flex=2),
    Column(title="FROM"),
    Column(title="THEN"),
    Column(title="COMMAND", flex=1, least=12),
)
STANDING = (
    Column(title="NAME"),
    Column(title="SINCE"),
    Column(title="BY"),
    Column(title="DIRECTORY", flex=2),
    Column(title="COMMAND", flex=1, least=12),
)
COLOURS: dict[str, Colour] = {"waiting": "magenta", "granted": "green", "refused": "red"}


def audit(context: Context, arguments: Arguments) -> int:
    engine = context.engine
    if arguments.always:
        return _standing(context, as_objects=arguments.json)
    if arguments.id is None:
        found = engine.audit(limit=arguments.number or USUAL)
    else:
        found = engine.approvals(engine.resolve(arguments.id))[::-1][: arguments.number]
    if arguments.json:
        for each in found:
            context.tell_json(
                {**approval_json(each), "command": _command(context, each), "then": _then(context, each)}
            )
    elif not found:
        context.say("nothing was asked about yet; what the judge finds harmless starts without a question")
    elif arguments.id is None:
        context.say(*table(COLUMNS, _rows(context, found), context.look))
    else:
        for number, each in enumerate(found):
            context.say(*([""] if number else []), *facts(_facts(context, each), context.look, indent=0))
    return 0


def _standing(context: Context, *, as_objects: bool) -> int:
    """List what was approved for all times."""
    found = context.engine.store.standing()
    if as_objects:
        for each in found:
            context.tell_json(
                {
                    "digest": each.digest,
                    "command": each.command,
                    "cwd": each.cwd,
                    "by": each.by,
                    "at": each.at.isoformat().replace("+00:00", "Z"),
                }
            )
    elif not found:
        context.say("nothing is approved for all times")
    else:
        rows = [
            (
                Cell(text=each.digest[:12], colour="bold"),
                local(each.at),
                line(each.by),
                told(each.cwd),
                told(each.command),
            )
            for each in found
        ]
        context.say(*table(STANDING, rows, context.look))
        context.say(context.look.paint("to be asked again: errands reject --always NAME", "dim"))
    return 0


def _rows(context: Context, found: list[Approval]) -> Iterator[tuple[str | Cell, ...]]:
    for each in found:
        yield (
            local(each.asked_at),
            Cell(text=each.task_id, colour="bold"),
            Cell(text=each.state, colour=COLOURS.get(each.state, "")),
            line(each.by or ""),
            line(each.door or ""),
            _then(context, each),
            told(_command(context, each)),
        )


def _command(context: Context, each: Approval) -> str:
    """Give what was asked about: a command, or the call that an agent wanted to make."""
    call = call_of(each)
    if call is not None:
        return call
    try:
        return context.engine.store.view(each.task_id).command
    except NotFound:
        return ""  # cleared meanwhile


def _then(context: Context, each: Approval) -> str:
    """Say what became of the run that was asked about."""
    if each.state != "granted":
        return ""
    runs = [run for run in context.engine.store.history(each.task_id) if run.number == each.run]
    return " ".join(filter(None, (runs[0].state, result(runs[0])))) if runs else "cleared"


def _facts(context: Context, each: Approval) -> Iterator[tuple[str, str]]:
    yield "asked", f"{local(each.asked_at)} about run {each.run} of {each.task_id}"
    yield "command" if call_of(each) is None else "call", told(_command(context, each))
    yield "because", "\n".join(told(reason.text) for reason in each.reasons)
    yield "answer", each.state + (f" at {local(each.at)}" if each.at else "")
    yield "by", line(each.by or "") + (f" ({line(each.door)})" if each.door else "")
    yield "then", _then(context, each)
    yield "note", told(each.note)
    yield "expires", local(each.expires_at) if each.state == "waiting" else ""
    yield "digest", each.digest


VERBS = (
    Verb(
        name="audit",
        summary="tell every question about a command, and who answered it, when and from where",
        run=audit,
        details="Newest first. What the judge finds harmless starts without a question, so it is not here; "
        "errands show tells it.",
        options=(
            Option(
                flags=("-n", "--number"),
                metavar="N",
                convert=whole_from_one,
                help=f"at most so many (default {USUAL}; for one task all)",
            ),
            Option(flags=("--always",), help="instead, what was approved for all times"),
            JSON,
        ),
        operands=(Operand(metavar="ID", help="only this task, in full", optional=True, completes="tasks"),),
        examples=(
            ("errands audit rm-8c", "everything about one task"),
            ("errands audit --json", "for scripts"),
        ),
    ),
)
