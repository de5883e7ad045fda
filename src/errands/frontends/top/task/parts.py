"""The parts of a task: which it has, the facts above them, and its runs."""

from __future__ import annotations

from datetime import datetime

from errands.frontends.top.line_view import Line
from errands.frontends.top.words import Words, sign_of
from errands.model.text.sanitise import line
from errands.model.view import View
from errands.text import Look, pad, size
from errands.text.describe import age, state_word, took_text

PARTS = ("output", "question", "conversation", "runs", "slots", "trace")


def parts_of(view: View) -> list[str]:
    """Return the parts that a task has, in their order."""
    left_out = set()
    if not may_be_answered(view):
        left_out.add("question")
    if view.agent is None:
        left_out.add("conversation")
    if view.standing is None:
        left_out.add("slots")
    return [each for each in PARTS if each not in left_out]


def first_part(view: View) -> str:
    """Return what a person wants to see first."""
    if view.needs_approval:
        return "question"
    return "output" if view.agent is None else "conversation"


def may_be_answered(view: View) -> bool:
    """Return whether a person can approve a task: it asks, was rejected, or failed in its sandbox."""
    if view.needs_approval or view.state == "rejected":
        return True
    waits = view.agent is not None and view.agent.waiting == "approval"
    return waits or (view.state == "failed" and view.verdict == "contained")


def facts(view: View, look: Look, words: Words, *, at: datetime) -> list[Line]:
    """Return the two lines above every part: what state a task is in, and what it runs where."""
    state = state_word(view)
    sign, colour = sign_of(state, look)
    took = took_text(view.latest, at=at)
    first: Line = [
        (view.id, "bold"),
        (f"  {sign} {state}", colour),
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
        sign, colour = sign_of(run.state, look)
        began = run.started_at or run.created_at
        lines.append(
            [
                (f"{run.number:>4}  ", "bold"),
                (pad(f"{sign} {run.state}", 12), colour),
                (pad(took_text(run, at=at), 9, right=True), ""),
                (pad(age(began, at=at), 10, right=True), "dim"),
                (f"  {run.cause}", "dim"),
                (f"  {size(run.bytes)}" if run.bytes else "", "dim"),
                (f"  {words.result(run, view.id)}", ""),
            ]
        )
    return lines or [[("It has not run yet.", "dim")]]
