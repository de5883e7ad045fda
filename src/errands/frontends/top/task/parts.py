"""The parts of a task beside its output: the facts above it, its runs, its conversation and its trace."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from errands.frontends.top.line_view import Line, painted
from errands.frontends.top.words import Words
from errands.model.agent.session import Exchange
from errands.model.states import SIGNS
from errands.model.text.sanitise import line, visible
from errands.model.view import View
from errands.text import STATES, Look, clip, pad, size, wrap

PARTS = ("output", "question", "conversation", "runs", "trace")


def parts_of(view: View) -> list[str]:
    """Return the parts that a task has, in their order."""
    left_out = set()
    if not may_be_answered(view):
        left_out.add("question")
    if view.agent is None:
        left_out.add("conversation")
    return [each for each in PARTS if each not in left_out]


def first_part(view: View) -> str:
    """Return what a person wants to see first."""
    if view.state == "proposed" or view.question is not None:
        return "question"
    return "output" if view.agent is None else "conversation"


def may_be_answered(view: View) -> bool:
    """Return whether a person can approve a task: it asks, was rejected, or failed in its sandbox."""
    if view.state == "proposed" or view.question is not None or view.state == "rejected":
        return True
    waits = view.agent is not None and view.agent.waiting == "approval"
    return waits or (view.state == "failed" and view.verdict == "contained")


def facts(view: View, look: Look, words: Words, *, at: datetime) -> list[Line]:
    """Return the two lines above every part: what state a task is in, and what it runs where."""
    state = words.state(view)
    sign, colour = STATES.get(state, (".", ""))
    took = words.took(view.latest, at=at)
    first: Line = [
        (view.id, "bold"),
        (f"  {look.sign(SIGNS.get(state, '·'), sign)} {state}", colour),
        (f" {took}" if took else "", ""),
    ]
    if detail := words.detail(view, look, at=at):
        first.append((f" · {detail}", ""))
    where = [words.purpose(view), f"in {line(view.cwd)}", f"lane {view.lane}", f"by {line(view.created_by)}"]
    if view.batch:
        where.append(f"batch {line(view.batch)}")
    return [first, [(" · ".join(where), "dim")]]


def run_lines(view: View, look: Look, words: Words, *, at: datetime) -> list[Line]:
    """List the runs of a task, the latest first."""
    lines: list[Line] = []
    for run in reversed(view.history):
        sign, colour = STATES.get(run.state, (".", ""))
        began = run.started_at or run.created_at
        lines.append(
            [
                (f"{run.number:>4}  ", "bold"),
                (pad(f"{look.sign(SIGNS.get(run.state, '·'), sign)} {run.state}", 12), colour),
                (pad(words.took(run, at=at), 9, right=True), ""),
                (pad(words.age(began, at=at), 10, right=True), "dim"),
                (f"  {run.cause}", "dim"),
                (f"  {size(run.bytes)}" if run.bytes else "", "dim"),
                (f"  {words.result(run, view.id)}", ""),
            ]
        )
    return lines or [[("It has not run yet.", "dim")]]


def conversation_lines(
    exchanges: list[tuple[int, Exchange]], columns: int, look: Look, mask: object
) -> list[Line]:
    """Write down what an agent was asked and answered."""
    lines: list[Line] = []
    for number, exchange in exchanges:
        lines.append([(look.sign("── ", "-- "), "dim"), (f"run {number} ", "dim"), ("asked", "bold cyan")])
        lines += _wrapped(exchange.text, columns, mask)
        if exchange.tools:
            lines.append([("   " + clip(line(", ".join(exchange.tools)), columns - 3), "dim")])
        if exchange.answer is not None:
            lines.append([(look.sign("── ", "-- "), "dim"), ("answered", "bold green")])
            lines += _wrapped(exchange.answer, columns, mask)
        if exchange.error or exchange.failure:
            lines.append([(look.sign("── ", "-- "), "dim"), ("failed", "bold red")])
            lines += _wrapped(exchange.error or exchange.failure or "", columns, mask)
        lines.append([])
    return lines or [[("Nothing was asked yet.", "dim")]]


def _wrapped(text: str, columns: int, mask: object) -> Iterator[Line]:
    shown = mask.text(visible(text)).expandtabs()  # type: ignore[attr-defined]
    for each in wrap(shown, max(columns - 3, 8)):
        yield [("   " + each, "")]


def trace_lines(texts: object) -> list[Line]:
    return [painted(each) for each in texts]  # type: ignore[attr-defined]
