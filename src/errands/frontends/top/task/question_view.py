"""The question about a task: an answer counts only after every line of it was on the screen."""

from __future__ import annotations

import time
from collections.abc import Sequence

from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from errands.frontends.top.line_view import TextView, painted
from errands.model.text.answers import QUESTION, Answer, spoken
from errands.model.view import View
from errands.text import Look, plural

SETTLE = 0.4  # seconds in which a key is not an answer: what it was meant for may just have moved


class QuestionView(TextView):
    class Seen(Message):
        """More lines of the question were on the screen."""

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, id=id)
        self.view: View | None = None
        self.offered: tuple[Answer, ...] = ()
        self._text: list[str] = []
        self._unseen: set[int] = set()
        self._moved_at = 0.0

    @property
    def number(self) -> int | None:
        """The question that is shown; a task that failed in its sandbox has none."""
        return None if self.view is None or self.view.question is None else self.view.question.id

    def show(self, view: View, text: Sequence[str], offered: tuple[Answer, ...]) -> None:
        """Show a question; if it is another one, or has changed, it has to be seen again."""
        lines = [*text]
        if lines == self._text and self.view is not None and self.view.id == view.id:
            self.view, self.offered = view, offered
            return
        self.view, self.offered, self._text = view, offered, lines
        self._unseen = set(range(len(lines)))
        self._moved_at = time.monotonic()
        self.go_to(0)
        self.set_lines([painted(each) for each in lines])

    def forget(self) -> None:
        self.view, self._text, self._unseen = None, [], set()

    @property
    def was_seen(self) -> bool:
        """Whether every line was on the screen, and long enough to be looked at."""
        return not self._unseen and time.monotonic() >= self._moved_at + SETTLE

    def show_unseen(self) -> bool:
        """Scroll to the first line that was not seen; return whether there is one."""
        if not self._unseen:
            return False
        self._moved_at = time.monotonic()
        self.go_to(min(self._unseen))
        return True

    @property
    def status(self) -> str:
        """What to do next: read on, or answer."""
        if self.view is None:
            return ""
        if not self.offered:
            return "It was rejected; y asks again"
        if self._unseen:
            return f"{plural(len(self._unseen), 'more line')} to read: space shows them"
        return f"{QUESTION} {spoken(self.offered) or 'y yes, n no'}"

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._unseen:
            self._unseen -= set(range(self.top, self.top + self.height))
            self._moved_at = time.monotonic()
            self.post_message(self.Seen())
        return super().render_lines(crop)
