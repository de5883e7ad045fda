"""trace: a task and everything it started, as a tree over time; no server needed."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, operand, option
from errands.model.view import plain_value
from errands.text.describe import now
from errands.text.trace import draw_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
        context.say(*draw_tree(part, context.look, at=now(), marked=arguments.span or ""))
    return 0


def _plain(span: Span) -> dict[str, Any]:
    return {
        "trace_id": span.place.trace_id,
        "span_id": span.place.span_id,
        "parent_id": span.parent_id,
        "name": span.name,
        "started_at": plain_value(span.started_at),
        "ended_at": plain_value(span.ended_at),
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
        "collector as well, see docs/how-to/tracing.md.",
        options=(
            option("--span SPAN", "find the task by the id of a span"),
            JSON_FIELDS,
        ),
        operands=(operand("[ID]", "the task", completes="tasks"),),
        examples=(
            ("errands trace pytest-7k", "where the time went"),
            ("errands trace --span a1b2c3d4e5f60718", "the task that a span belongs to"),
        ),
    ),
)
