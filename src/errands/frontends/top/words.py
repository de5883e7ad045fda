"""The words of the viewer: how a task is described, in the same texts as on the command line.

The command line passes them in, because frontends are strangers to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from errands.model.states import SIGNS
from errands.model.view import RunView, View
from errands.text import STATES, Look


def sign_of(state: str, look: Look) -> tuple[str, str]:
    """Return the sign of a state and its colour."""
    plain, colour = STATES.get(state, (".", ""))
    return look.sign(SIGNS.get(state, "·"), plain), colour


class Words(Protocol):
    def state(self, view: View) -> str:
        """Return the state of a task in one word."""

    def detail(self, view: View, look: Look, *, at: datetime) -> str:
        """Return what to say about a task besides its state; secrets are masked."""

    def purpose(self, view: View) -> str:
        """Return what a task is for, on one line; secrets are masked."""

    def result(self, run: RunView, task_id: str) -> str:
        """Return how a run ended, in a few words; secrets are masked."""

    def age(self, moment: datetime, *, at: datetime) -> str:
        """Return how long ago a moment was in one unit, or how long until it comes."""

    def took(self, run: RunView, *, at: datetime) -> str:
        """Return how long a run took, or has taken so far."""

    def question(self, view: View, look: Look) -> Sequence[str]:
        """Lay out everything that would run and why it needs approval, unshortened and spelled out."""

    def trace(self, task_id: str, look: Look, *, at: datetime) -> Sequence[str]:
        """Draw a task and everything it started as a tree over time."""
