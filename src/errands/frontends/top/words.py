"""The words of the viewer: what it says about a task, worded as on the command line, with secrets masked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime

from errands.engine.approval.question_facts import facts_of
from errands.engine.engine import Engine
from errands.engine.submit.draft_trigger import own_zone
from errands.engine.text_mask import TextMask
from errands.model.states import SIGNS
from errands.model.text.sanitise import line
from errands.model.view import RunView, View
from errands.text import STATES, Look
from errands.text.describe import outcome, purpose, result
from errands.text.question import question
from errands.text.trace import draw_tree

# The sign of what became of a slot in Unicode and ASCII, and its colour; of a day, the worst, which is first.
FATES: dict[str, tuple[str, str, str]] = {
    "failed": ("✗", "x", "red"),
    "missed": ("!", "!", "red"),
    "cancelled": ("⊘", "-", "grey"),
    "waiting": ("○", "o", "yellow"),
    "running": ("●", "*", "cyan"),
    "late": ("✓", "+", "yellow"),
    "ran": ("✓", "+", "green"),
    "coalesced": ("»", ">", "grey"),
    "skipped": ("»", ">", "grey"),
}


def sign_of(state: str, look: Look) -> tuple[str, str]:
    """Return the sign of a state and its colour."""
    plain, colour = STATES.get(state, (".", ""))
    return look.sign(SIGNS.get(state, "·"), plain), colour


class Words:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._mask = TextMask(engine, os.environ)
        self._zone = own_zone(engine.config, os.environ)

    def detail(self, view: View, look: Look, *, at: datetime) -> str:
        """Return what to say about a task besides its state."""
        return self._mask.text(view.id, outcome(view, look, at=at, zone=self._zone))

    def purpose(self, view: View) -> str:
        return line(self._mask.text(view.id, purpose(view)))

    def result(self, run: RunView, task_id: str) -> str:
        return self._mask.text(task_id, result(run))

    def question(self, view: View, look: Look) -> Sequence[str]:
        """Lay out everything that would run and why it needs approval, unshortened and spelled out."""
        return question(facts_of(self._engine, os.environ, view), look)

    def trace(self, task_id: str, look: Look, *, at: datetime) -> Sequence[str]:
        """Draw a task and everything it started as a tree over time."""
        return list(draw_tree(self._engine.tracing.tree(task_id), look, at=at))
