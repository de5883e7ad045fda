"""audit: every question that was asked about a command, and who answered it, when and from where."""

from __future__ import annotations

from errands.frontends.cli.approval.proposals import told
from errands.frontends.cli.display.format import local
from errands.frontends.cli.parser import JSON, Operand, Option, Verb, whole_from_one
from errands.model.approval import call_of
from errands.model.text.sanitise import line
from errands.model.view import approval_json
from errands.text import Cell, Column, facts, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.approval import AuditEntry
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
    usual = USUAL if arguments.id is None else None
    found = engine.audit(arguments.id, limit=arguments.number or usual)
    if arguments.json:
        for each in found:
            context.tell_json(
                {
                    **approval_json(each.approval),
                    "name": each.name,
                    "command": _command(each),
                    "cwd": each.cwd,
                    "verdict": each.verdict,
                    "then": _then(each),
                    "exit_code": each.exit_code,
                    "cleared": each.is_gone,
                }
            )
    elif not found:
        context.say("nothing was asked about yet; what the judge finds harmless starts without a question")
    elif arguments.id is None:
        context.say(*table(COLUMNS, _rows(found), context.look))
    else:
        for number, each in enumerate(found):
            context.say(*([""] if number else []), *facts(_facts(each), context.look, indent=0))
    return 0


def _standing(context: Context, *, as_objects: bool) -> int:
    """List what was approved for all times."""
    found = context.engine.standing_approvals()
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


def _rows(found: list[AuditEntry]) -> Iterator[tuple[str | Cell, ...]]:
    for each in found:
        asked = each.approval
        yield (
            local(asked.asked_at),
            Cell(text=asked.task_id, colour="bold"),
            Cell(text=asked.state, colour=COLOURS.get(asked.state, "")),
            line(asked.by or ""),
            line(asked.door or ""),
            _then(each),
            told(_command(each)),
        )


def _command(each: AuditEntry) -> str:
    """Give what was asked about: a command, or the call that an agent wanted to make."""
    return call_of(each.approval) or each.command


def _then(each: AuditEntry) -> str:
    """Say what became of the run that was asked about."""
    if each.approval.state != "granted":
        return ""
    if each.outcome is None:
        return "cleared"
    why = each.error if each.outcome in ("failed", "skipped") else None
    return " · ".join(line(word) for word in (each.outcome, why, each.summary) if word)


def _facts(each: AuditEntry) -> Iterator[tuple[str, str]]:
    asked = each.approval
    gone = ", which is cleared" if each.is_gone else ""
    yield "asked", f"{local(asked.asked_at)} about run {asked.run} of {asked.task_id}{gone}"
    yield "command" if call_of(asked) is None else "call", told(_command(each))
    yield "directory", told(each.cwd)
    yield "because", "\n".join(told(reason.text) for reason in asked.reasons)
    yield "answer", asked.state + (f" at {local(asked.at)}" if asked.at else "")
    yield "by", line(asked.by or "") + (f" ({line(asked.door)})" if asked.door else "")
    yield "then", _then(each)
    yield "note", told(asked.note)
    yield "expires", local(asked.expires_at) if asked.state == "waiting" else ""
    yield "digest", asked.digest


VERBS = (
    Verb(
        name="audit",
        summary="tell every question about a command, and who answered it, when and from where",
        run=audit,
        details="Newest first. What the judge finds harmless starts without a question, so it is not here; "
        "errands show tells it. The answers about a task that was cleared stay here for as long as "
        "`retention.history` says.",
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
        operands=(
            Operand(
                metavar="ID",
                help="only this task and what it started, in full",
                optional=True,
                completes="tasks",
            ),
        ),
        examples=(
            ("errands audit rm-8c", "everything about one task"),
            ("errands audit --json", "for scripts"),
        ),
    ),
)
