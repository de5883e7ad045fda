"""A span: one stretch of time in a trace, as OpenTelemetry has it.

Spans are not recorded but derived from the rows of runs and events. So none is lost in a burst or with a
process, and they cost nothing until they are read.
"""

from __future__ import annotations

from datetime import datetime

from errands.model.agent.session import is_conversation
from errands.model.record import record
from errands.model.text.ids import EXECUTE, START, digest, run_mark
from errands.model.view import plain_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from errands.model.run import Event, Run
    from errands.model.view import RunView, View

    Value = str | int | float | bool

TURN = "chat_turn"  # one message to a chat and the answer
_HEX = frozenset("0123456789abcdef")


@record
class Place:
    """The trace of a span, and its id there."""

    trace_id: str
    span_id: str

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-01"


@record
class Span:
    place: Place
    name: str
    started_at: datetime
    ended_at: datetime | None  # None: it is still running
    parent_id: str | None = None
    links: tuple[Place, ...] = ()
    attributes: Mapping[str, Value] = {}
    error: str | None = None  # why it failed; None when it did not


def caller(environ: Mapping[str, str]) -> Place | None:
    """Return the place that an environment passes on; None if there is none, or it is malformed."""
    given = environ.get("TRACEPARENT")
    if not given:  # as nearly always
        return None
    parts = given.split("-")
    if len(parts) < 4 or parts[0] == "ff" or [len(each) for each in parts[:4]] != [2, 32, 16, 2]:
        return None
    _, trace_id, span_id, _ = parts[:4]
    if not all(set(each) <= _HEX for each in parts[:4]) or not trace_id.strip("0") or not span_id.strip("0"):
        return None
    return Place(trace_id=trace_id, span_id=span_id)


def executing(run: Run | RunView, launched_in: Place | None) -> Place:
    """Return the place of a run's execution, the parent of everything that the run starts."""
    return _place(run, EXECUTE, launched_in)


def calling(execute: Place, call: str) -> Place:
    """Return the place of a tool call in a run, the parent of everything that the tool starts."""
    return _below(execute, f"execute_tool {call}")


def spans_of(
    view: View, events: Sequence[Event], launched_in: Place | None, *, only: int | None = None
) -> list[Span]:
    """Return the spans of a task, or of one of its runs, oldest first."""
    spans: list[Span] = []
    facts = _facts(view)
    for run in view.history:
        if only is not None and run.number != only:
            continue
        if is_conversation(view):
            spans += _turn(view, run, events, launched_in)
            continue
        start, execute = _place(run, START, launched_in), executing(run, launched_in)
        earlier = [each for each in view.history if each.number == run.number - 1]
        spans.append(
            Span(
                place=start,
                name=START,
                started_at=run.created_at,
                ended_at=run.started_at or run.completed_at,
                parent_id=launched_in.span_id if launched_in is not None and run.number == 1 else None,
                links=tuple(executing(each, launched_in) for each in earlier),
                attributes={**facts, "task.run": run.number, "task.cause": run.cause},
                error=run.error if run.started_at is None and run.state == "failed" else None,
            )
        )
        if run.started_at is not None:
            spans.append(_execution(run, start, execute, facts))
            mine = [each for each in events if each.run == run.number]
            spans += _agent_spans(view, run, execute, mine)
    return spans


def _turn(view: View, run: RunView, events: Sequence[Event], launched_in: Place | None) -> Iterator[Span]:
    """Yield a turn of a conversation, the parent of everything that its agent starts, and what it did."""
    turn = executing(run, launched_in)
    earlier = [each for each in view.history if each.number == run.number - 1]
    yield Span(
        place=turn,
        name=TURN,
        started_at=run.created_at,
        ended_at=run.completed_at,
        links=tuple(executing(each, launched_in) for each in earlier),
        attributes={**_facts(view), "task.run": run.number, "task.status": run.state},
        error=(run.error or run.state) if run.state in ("failed", "cancelled") else None,
    )
    if run.started_at is not None:
        yield from _agent_spans(view, run, turn, [each for each in events if each.run == run.number])


def _execution(run: RunView, start: Place, execute: Place, facts: Mapping[str, Value]) -> Span:
    found: dict[str, Value | None] = {
        "task.run": run.number,
        "task.status": run.state,
        "task.pid": run.pid,
        "task.exit_code": run.exit_code,
        "task.signal": run.signal,
        "task.attempt": run.attempt,
    }
    assert run.started_at is not None
    return Span(
        place=execute,
        name=EXECUTE,
        started_at=run.started_at,
        ended_at=run.completed_at,
        parent_id=start.span_id,
        links=(start,),
        attributes={**facts, **{name: value for name, value in found.items() if value is not None}},
        error=(run.error or run.failure or run.state) if run.state in ("failed", "cancelled") else None,
    )


def _facts(view: View) -> dict[str, Value]:
    facts = {
        "task.id": view.id,
        "task.kind": view.kind,
        "task.command": view.command,
        "task.description": view.description,
        "task.approved_by": view.approved_by,
        "task.approved_at": plain_value(view.approved_at),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _agent_spans(view: View, run: RunView, execute: Place, events: Sequence[Event]) -> Iterator[Span]:
    """Yield what an agent did: the requests to its model and its tool calls."""
    if view.agent is None:
        return
    assert run.started_at is not None
    agent = _below(execute, "invoke_agent")
    session = (view.details or {}).get("session")
    yield Span(
        place=agent,
        name=f"invoke_agent {view.agent.name}",
        started_at=run.started_at,
        ended_at=run.completed_at,
        parent_id=execute.span_id,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": view.agent.name,
            **({"gen_ai.conversation.id": session} if session else {}),
        },
        error=run.error if run.state == "failed" else None,
    )
    begun: dict[str, tuple[str, datetime]] = {}
    since = run.started_at
    for event in events:
        detail = _detail(event)
        call = str(detail.get("call", ""))
        match event.name:
            case "tool":
                begun[call] = (str(detail.get("name", "")), event.at)
            case "tool_end":
                name, at = begun.pop(call, (str(detail.get("name", "")), event.at))
                yield _tool(execute, agent, call, name, at, event.at, failed=bool(detail.get("failed")))
                since = event.at
            case "usage" if detail.get("requests"):
                yield _chat(agent, view.agent.model, since, event.at, detail)
                since = event.at
    for call, (name, at) in begun.items():
        yield _tool(execute, agent, call, name, at, run.completed_at, failed=run.completed_at is not None)


def _tool(
    execute: Place,
    agent: Place,
    call: str,
    name: str,
    start: datetime,
    end: datetime | None,
    *,
    failed: bool,
) -> Span:
    return Span(
        place=calling(execute, call),
        name=f"execute_tool {name}",
        started_at=start,
        ended_at=end,
        parent_id=agent.span_id,
        attributes={
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call,
        },
        error="the call failed" if failed else None,
    )


def _chat(agent: Place, model: str | None, start: datetime, end: datetime, detail: Mapping[str, Any]) -> Span:
    model = detail.get("model") or model
    return Span(
        place=_below(agent, f"chat {end}"),
        name=f"chat {model}" if model else "chat",
        started_at=start,
        ended_at=end,
        parent_id=agent.span_id,
        attributes={
            "gen_ai.operation.name": "chat",
            **({"gen_ai.request.model": model} if model else {}),
            **{
                f"gen_ai.usage.{name}": detail[name]
                for name in ("input_tokens", "output_tokens")
                if name in detail
            },
        },
    )


def _detail(event: Event) -> Mapping[str, Any]:
    if event.name not in ("tool", "tool_end", "usage"):
        return {}
    import json

    try:
        detail = json.loads(event.detail)
    except ValueError:
        return {}
    return detail if isinstance(detail, dict) else {}


def _place(run: Run | RunView, name: str, launched_in: Place | None) -> Place:
    # A later run may start days after its launcher is gone, so it is a trace of its own.
    which = run_mark(run.id, run.created_at)
    inherits = launched_in is not None and run.number == 1
    trace = launched_in.trace_id if inherits and launched_in else digest(which, 16)
    return Place(trace_id=trace, span_id=digest(f"{name} {which}", 8))


def _below(place: Place, name: str) -> Place:
    return Place(trace_id=place.trace_id, span_id=digest(f"{name} {place.span_id}", 8))
