"""audit: every approval question, and who answered it, when and from where."""

from __future__ import annotations

from errands.engine.approval.question_facts import masked
from errands.engine.details import approval_json
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Verb, operand, option, whole_from_one
from errands.model.approval import AuditEntry, call_of
from errands.model.text.answers import answer_word
from errands.model.text.sanitise import line
from errands.model.view import plain_fields
from errands.text import Cell, Column, facts, table
from errands.text.describe import id_cell, local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from errands.text import Colour

USUAL = 50
COLUMNS = (
    Column(title="ASKED", drop=3),
    Column(title="TASK", flex=2, least=12),
    Column(title="ANSWER"),
    Column(title="BY", flex=2, least=11, drop=2),
    Column(title="FROM", drop=5),
    Column(title="THEN", flex=1, least=9, drop=4),
    Column(title="COMMAND", flex=1, least=12),
)
ALWAYS_COLUMNS = (
    Column(title="NAME"),
    Column(title="SINCE", drop=3),
    Column(title="BY", drop=2),
    Column(title="DIRECTORY", flex=2, least=12, drop=1),
    Column(title="COMMAND", flex=1, least=12),
)
COLOURS: dict[str, Colour] = {"waiting": "magenta", "granted": "green", "refused": "red"}


def audit(context: Context, arguments: Arguments) -> int:
    engine = context.engine
    if arguments.always:
        return _list_always(context, as_objects=arguments.json)
    usual = USUAL if arguments.id is None else None
    found = engine.audit(arguments.id, limit=arguments.number or usual)
    if arguments.json:
        for each in found:
            context.print_json(
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
        about = "yet" if arguments.id is None else f"about {line(arguments.id)}"
        context.say(f"no questions {about}; harmless commands start without one")
    elif arguments.id is None:
        context.say(*table(COLUMNS, _rows(context, found), context.look))
    else:
        for number, each in enumerate(found):
            context.say(*([""] if number else []), *facts(_facts(each), context.look, indent=0))
    return 0


def _list_always(context: Context, *, as_objects: bool) -> int:
    """List what was approved with --always."""
    found = context.engine.standing_approvals()
    if as_objects:
        for each in found:
            context.print_json(plain_fields(each, ("digest", "command", "cwd", "by", "at")))
    elif not found:
        context.say("nothing is approved with --always")
    else:
        rows = [
            (
                Cell(text=each.digest[:12], colour="bold"),
                local(each.at),
                line(each.by),
                masked(each.cwd),
                masked(each.command),
            )
            for each in found
        ]
        context.say(*table(ALWAYS_COLUMNS, rows, context.look))
        context.say(
            context.look.paint(f"withdraw one: {context.look.command('reject --always NAME')}", "dim")
        )
    return 0


def _rows(context: Context, found: list[AuditEntry]) -> Iterator[tuple[str | Cell, ...]]:
    for each in found:
        asked = each.approval
        yield (
            local(asked.asked_at)[:-3],
            id_cell(asked.task_id, context.look, means=context.engine.means),
            Cell(text=answer_word(asked), colour=COLOURS.get(asked.state, "")),
            line(asked.by or ""),
            line(asked.door or ""),
            _then(each),
            masked(_command(each)),
        )


def _command(each: AuditEntry) -> str:
    """Return what the question is about: a command, or the call of an agent."""
    return call_of(each.approval) or each.command


def _then(each: AuditEntry) -> str:
    """Return how the approved run ended."""
    if each.approval.state != "granted":
        return ""
    if each.outcome is None:
        return "cleared"
    why = each.error if each.outcome in ("failed", "skipped") else None
    return " · ".join(line(word) for word in (each.outcome, why, each.summary) if word)


def _facts(each: AuditEntry) -> Iterator[tuple[str, str]]:
    asked = each.approval
    gone = " (cleared)" if each.is_gone else ""
    yield "asked", f"{local(asked.asked_at)} about run {asked.run} of {asked.task_id}{gone}"
    yield "command" if call_of(asked) is None else "call", masked(_command(each))
    yield "directory", masked(each.cwd)
    yield "because", "\n".join(masked(reason.text) for reason in asked.reasons)
    yield "answer", answer_word(asked) + (f" at {local(asked.at)}" if asked.at else "")
    yield "by", line(asked.by or "") + (f" ({line(asked.door)})" if asked.door else "")
    yield "then", _then(each)
    yield "note", masked(asked.note)
    yield "expires", local(asked.expires_at) if asked.state == "waiting" else ""
    yield "digest", asked.digest


VERBS = (
    Verb(
        name="audit",
        summary="show every approval question, and who answered it, when and from where",
        run=audit,
        details="Newest first. Harmless commands start without a question, so they are not listed here. "
        "The answers about a cleared task are kept for as long as `retention.history` says.",
        options=(
            option(
                "-n, --number N",
                f"show at most N (default {USUAL}; all for one task)",
                convert=whole_from_one,
            ),
            option("--always", "show what was approved with --always instead"),
            JSON_FIELDS,
        ),
        operands=(operand("[ID]", "show only this task and what it started, in full", completes="tasks"),),
        examples=(
            ("errands audit rm-8c", "everything about one task"),
            ("errands audit --json", "for scripts"),
        ),
    ),
)
