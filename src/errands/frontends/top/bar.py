"""The bars of the screen: the title with what is running, the views, what was just said, and the keys."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from errands.frontends.top.line_view import Line, LineView, plain
from errands.text import Look, clip, width


class Bar(LineView):
    """One line; a click on a part of it that has a name says which."""

    class Clicked(Message):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    DEFAULT_CSS = "Bar { height: 1; }"

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, id=id)
        self._left: Line = []
        self._right: Line = []
        self._names: Sequence[tuple[int, int, str]] = ()

    def set_line(
        self, left: Line, right: Line | None = None, names: Sequence[tuple[int, int, str]] = ()
    ) -> None:
        """Show a line with a part aligned right; the left part is shortened to fit."""
        self._left, self._right, self._names = left, right or [], names
        self.count_rows(1)
        self.refresh()

    def row(self, number: int) -> Line:
        right = self._right
        while len(right) > 1 and width(plain(right)) > self.columns:
            right = right[1:]
        room = self.columns - width(plain(right))
        left = plain(self._left)
        if width(left) <= room:
            return [*self._left, (" " * (room - width(left)), ""), *right]
        line: Line = []
        for text, style in self._left:
            shown = clip(text, max(room - 1, 0), mark="")
            room -= width(shown)
            line.append((shown, style))
            if shown != text:
                break
        return [*line, (" " * max(room, 0), ""), *right]

    def on_click(self, event: events.Click) -> None:
        for begin, end, name in self._names:
            if begin <= event.x < end:
                self.post_message(self.Clicked(name))
