"""The preview: the end of what the chosen task has printed, or what it would run."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container

from errands.frontends.top.bar import Bar
from errands.frontends.top.feed import Feed
from errands.frontends.top.line_view import TextView
from errands.model.text.sanitise import line as safe
from errands.model.view import View
from errands.text import Look


class Preview(Container):
    def __init__(self, feed: Feed, look: Look, *, id: str) -> None:
        super().__init__(id=id)
        self._feed = feed
        self._look = look
        self._rule = Bar(look, id="rule")
        self._tail = TextView(look, id="tail")

    def compose(self) -> ComposeResult:
        yield self._rule
        yield self._tail

    def show(self, view: View | None) -> None:
        tail, rule = self._tail, self._rule
        dash = self._look.sign("─", "-")
        if view is None:
            rule.set_line([(dash * tail.columns, "dim")])
            tail.set_lines([])
            return
        title = "would run" if view.needs_approval else "output"
        head = f"{dash * 2} {view.id} {title} "
        rule.set_line([(head + dash * max(tail.columns - len(head), 0), "dim")])
        if view.needs_approval:
            lines = [safe(each) for each in view.command.split("\n")][: tail.height]
        else:
            lines = self._feed.tail(view.id, tail.height)
        tail.set_lines([[(each, "")] for each in lines[-tail.height :]])
