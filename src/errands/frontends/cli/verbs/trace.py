"""trace: a task and everything it started, as a tree over time; no server needed."""

from __future__ import annotations

from errands.frontends.cli.display.format import now
from errands.frontends.cli.display.trace_tree import drawn
from errands.frontends.cli.parser import JSON, Operand, Option, Usage, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.span import Span


def trace(context: Context, arguments: Arguments) -> int:
    if (arguments.id is None) == (arguments.span is None):
        raise Usage("give either the id of a task, or --span and the id of a span")
    tracing = context.engine.tracing
    task_id = arguments.id or tracing.find(arguments.span)
    spans = tracing.tree(task_id)
    if arguments.json:
        for span in spans:
            context.print_json(_plain(span))
        return 0
    for trace_id in dict.fromkeys(span.place.trace_id for span in spans):
        context.say(context.look.paint(f"trace {trace_id}", "bold"))
        part = [span for span in spans if span.place.trace_id == trace_id]
        context.say(*drawn(part, context.look, at=now(), marked=arguments.span or ""))
    return 0


def _plain(span: Span) -> dict[str, Any]:
    return {
        "trace_id": span.place.trace_id,
        "span_id": span.place.span_id,
        "parent_id": span.parent_id,
        "name": span.name,
        "started_at": span.started_at.isoformat().replace("+00:00", "Z"),
        "ended_at": None if span.ended_at is None else span.ended_at.isoformat().replace("+00:00", "Z"),
        "attributes": dict(span.attributes),
        "links": [{"trace_id": each.trace_id, "span_id": each.span_id} for each in span.links],
        "error": span.error,
    }


VERBS = (
    Verb(
        name="trace",
        summary="draw what a task did, and when, as a tree",
        run=trace,
        details="The tree starts at the first launch and contains everything launched from it. A later run "
        "of a task is a trace of its own, linked to the earlier one. No setup is needed; to send spans to a "
        "collector as well, see docs/tracing.md.",
        options=(
            Option(flags=("--span",), metavar="SPAN", help="find the task by the id of a span"),
            JSON,
        ),
        operands=(Operand(metavar="ID", help="the task", completes="tasks", optional=True),),
        examples=(
            ("errands trace pytest-7k", "where the time went"),
            ("errands trace --span a1b2c3d4e5f60718", "the task that a span belongs to"),
        ),
    ),
)
