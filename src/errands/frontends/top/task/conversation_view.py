"""A conversation: what an agent was asked and answered, and its tool calls, folded until one is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from textual import events
from textual.message import Message

from errands.engine.agents.call_log import LoggedCall
from errands.frontends.top.line_view import Line, LineView
from errands.frontends.top.words import sign_of
from errands.model.agent.session import Exchange
from errands.model.text.duration import spoken
from errands.model.text.mask import Mask
from errands.model.text.sanitise import line, visible
from errands.text import Look, clip, pad, width, wrap

_INDENT = "   "


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What there is to show; `started` finds the task that a call of a run started."""

    exchanges: Sequence[tuple[int, Exchange]]
    calls: Mapping[int, list[LoggedCall]]
    started: Callable[[int, str], str | None]
    mask: Mask
    at: datetime


class ConversationView(LineView):
    """One line is chosen; Enter or a second click unfolds a call, or opens the task that it started."""

    class Opened(Message):
        def __init__(self, task_id: str) -> None:
            super().__init__()
            self.task_id = task_id

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, id=id)
        self._lines: list[tuple[Line, str]] = []  # each with what Enter does on it
        self._unfolded: set[str] = set()
        self._place = 0
        self._talk: Conversation | None = None

    def forget(self) -> None:
        """Start over with another task, at the end of its conversation."""
        self._unfolded.clear()
        self._lines, self._place, self._talk = [], 0, None
        self.count_rows(0)

    def show(self, talk: Conversation) -> None:
        """Show a conversation; a reader at its end stays at the end."""
        is_at_end = self._place >= len(self._lines) - 1
        self._talk = talk
        self._lines = list(self._written(talk))
        self._place = len(self._lines) - 1 if is_at_end else min(self._place, len(self._lines) - 1)
        self.count_rows(len(self._lines))
        self._show_place()
        self.refresh()

    def move(self, rows: int) -> None:
        self._place = min(max(self._place + rows, 0), max(len(self._lines) - 1, 0))
        self._show_place()
        self.refresh()

    def unfold(self) -> None:
        """Show or hide what belongs to the chosen call, or open the task that is chosen."""
        action, _, name = self._lines[self._place][1].partition(" ") if self._lines else ("", "", "")
        if action == "task":
            self.post_message(self.Opened(name))
        elif action == "call" and self._talk is not None:
            self._unfolded ^= {name}
            place = self._place
            self.show(self._talk)
            self.move(place - self._place)

    def on_click(self, event: events.Click) -> None:
        place = self.top + event.y
        if place < len(self._lines):
            is_second = place == self._place
            self.move(place - self._place)
            if is_second:
                self.unfold()

    def _show_place(self) -> None:
        if self._place < self.top:
            self.go_to(self._place)
        elif self._place >= self.top + self.height:
            self.go_to(self._place - self.height + 1)

    def row(self, number: int) -> Line:
        return self._lines[number][0]

    def row_style(self, number: int) -> str:
        return "reverse" if number == self._place else ""

    # Writing it down.

    def _written(self, talk: Conversation) -> Iterator[tuple[Line, str]]:
        if not talk.exchanges:
            yield [("Nothing was asked yet.", "dim")], ""
        for number, exchange in talk.exchanges:
            yield self._heading(f"run {number} ", "asked", "cyan"), ""
            yield from self._text(talk.mask.text(visible(exchange.text)))
            for call in talk.calls.get(number, ()):
                yield from self._call(talk, number, call)
            if not talk.calls.get(number) and exchange.tools:
                tools = line(", ".join(exchange.tools))
                yield [(_INDENT + clip(tools, self.columns - len(_INDENT)), "dim")], ""
            if exchange.answer is not None:
                yield self._heading("", "answered", "green"), ""
                yield from self._text(talk.mask.text(visible(exchange.answer)))
            if exchange.error or exchange.failure:
                yield self._heading("", "failed", "red"), ""
                yield from self._text(talk.mask.text(visible(exchange.error or exchange.failure or "")))

    def _heading(self, before: str, word: str, colour: str) -> Line:
        return [(self.look.sign("── ", "-- "), "dim"), (before, "dim"), (word, f"bold {colour}")]

    def _call(self, talk: Conversation, run: int, call: LoggedCall) -> Iterator[tuple[Line, str]]:
        name = f"{run} {call.id}"
        state = "failed" if call.failed else "running" if call.ended_at is None else "completed"
        sign, colour = sign_of(state, self.look)
        is_open = name in self._unfolded
        fold = self.look.sign("▾" if is_open else "▸", "-" if is_open else "+")
        took = f"  {spoken((call.ended_at or talk.at) - call.started_at)} "
        room = self.columns - len(fold) - 1 - width(took) - 1
        first = call.arguments.strip().partition("\n")[0]
        text = clip(f"{call.name}  {first}".rstrip(), room, mark=self.look.sign("…", "~"))
        named, rest = text[: len(call.name)], text[len(call.name) :]
        yield (
            [
                (f"{fold} ", "cyan"),
                (named, "bold"),
                (pad(rest, max(room - width(named), 0)), "dim"),
                (took, "dim"),
                (sign, colour),
            ],
            f"call {name}",
        )
        if is_open:
            yield from self._text(call.arguments or "(its arguments were not kept)", "cyan")
            if task := talk.started(run, call.id):
                words: Line = [(f"{_INDENT}it started ", "dim"), (task, "bold"), (": enter opens it", "dim")]
                yield words, f"task {task}"
            if call.result:
                yield [(_INDENT + self.look.sign("── result", "-- result"), "dim")], f"call {name}"
                yield from self._text(call.result)

    def _text(self, text: str, style: str = "") -> Iterator[tuple[Line, str]]:
        for each in wrap(text.expandtabs(), max(self.columns - len(_INDENT), 8)):
            yield [(_INDENT + each, style)], ""
