"""Lists of tasks: a chosen row, selected rows, and rows that stay where they are while others come and go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from errands.frontends.top.line_view import Line, LineView, plain
from errands.frontends.top.words import Words, sign_of
from errands.model.text.ids import SHORTENED, short_id
from errands.model.view import View
from errands.text import Look, clip, pad, width
from errands.text.describe import WAITING, age, state_word, took_text

# The id of a row, or a line that cannot be chosen.
Entry = str | Line
WIDEST_ID = 24  # columns
Draw = Callable[[str, int], Line]


class Rows(LineView):
    """A list; `draw` draws a row by its id, and `fetch` reads all rows that are about to be drawn."""

    wheel = 1

    class Opened(Message):
        """The chosen row was clicked."""

    class Chosen(Message):
        """Another row is chosen."""

    def __init__(
        self, look: Look, *, id: str, draw: Draw, fetch: Callable[[list[str]], object] = lambda ids: None
    ) -> None:
        super().__init__(look, id=id)
        self._draw = draw
        self._fetch = fetch
        self.entries: Sequence[Entry] = ()
        self.selected: set[str] = set()
        self.place = 0  # of the chosen row

    @property
    def chosen(self) -> str:
        """The id of the chosen row; empty if there is none."""
        entry = self.entries[self.place] if self.place < len(self.entries) else ""
        return entry if isinstance(entry, str) else ""

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Show other rows; the chosen one stays chosen, at the same place on the screen."""
        chosen, height = self.chosen, self.place - self.top
        self.entries = entries
        if chosen:
            try:
                self.place = entries.index(chosen)
            except ValueError:
                self.place = min(self.place, max(len(entries) - 1, 0))
        self.count_rows(len(entries))
        self._choose_nearest(1)
        self.go_to(self.place - height if chosen and chosen == self.chosen else self.top)
        self._show_chosen()
        self.refresh()
        if chosen != self.chosen:
            self.post_message(self.Chosen())

    def choose(self, entry_id: str) -> None:
        if entry_id in self.entries:
            self.place = list(self.entries).index(entry_id)
            self._show_chosen()
            self.refresh()
            self.post_message(self.Chosen())

    def move(self, rows: int) -> None:
        before = self.place
        self.place = min(max(self.place + rows, 0), max(len(self.entries) - 1, 0))
        self._choose_nearest(1 if rows > 0 else -1)
        self._show_chosen()
        self.refresh()
        if self.place != before:
            self.post_message(self.Chosen())

    def _choose_nearest(self, step: int) -> None:
        """Choose a row that can be chosen: this one, the next one in a direction, or one before."""
        for way in (step, -step):
            place = self.place
            while 0 <= place < len(self.entries):
                if isinstance(self.entries[place], str):
                    self.place = place
                    return
                place += way

    def _show_chosen(self) -> None:
        if not self.size.height:
            return  # before the first layout
        # The heading of a group stays visible with its first row.
        first = min(self.place, len(self.entries))
        while first and not isinstance(self.entries[first - 1], str):
            first -= 1
        if first < self.top:
            self.go_to(first)
        elif self.place >= self.top + self.height:
            self.go_to(self.place - self.height + 1)

    @property
    def widest_id(self) -> int:
        """The columns that the ids of the rows on the screen take."""
        seen = self.entries[self.top : self.top + self.height]
        ids = [len(each) for each in seen if isinstance(each, str)]
        return min(max(ids, default=8), WIDEST_ID)

    def toggle_selected(self) -> None:
        if self.chosen:
            self.selected ^= {self.chosen}
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        place = self.top + event.y
        if place < len(self.entries) and isinstance(self.entries[place], str):
            if place == self.place:
                self.post_message(self.Opened())
            else:
                self.move(place - self.place)

    def on_resize(self) -> None:
        self.count_rows(len(self.entries))
        self._show_chosen()

    def row(self, number: int) -> Line:
        entry = self.entries[number]
        if not isinstance(entry, str):
            return entry
        mark = self.look.sign("▌", ">") if entry in self.selected else " "
        return [(mark, "yellow"), *self._draw(entry, self.columns - 1)]

    def row_style(self, number: int) -> str:
        return "reverse" if number == self.place and isinstance(self.entries[number], str) else ""

    def render_lines(self, crop: Region) -> list[Strip]:
        seen = self.entries[self.top : self.top + self.height]
        self._fetch([each for each in seen if isinstance(each, str)])
        return super().render_lines(crop)


def task_line(
    view: View | None,
    columns: int,
    look: Look,
    words: Words,
    *,
    at: datetime,
    has_state: bool = False,
    room_for_id: int = WIDEST_ID,
) -> Line:
    """Draw a task: its sign, id, what is to be said about it, and its age at the right."""
    if view is None:
        return [("  (gone)", "dim")]
    state = state_word(view)
    sign, colour = sign_of(state, look)
    line: Line = [(f"{sign} ", colour)]
    wide = min(room_for_id, max(columns // 3, 8))
    line.append((pad(short_id(view.id, wide, mark=look.sign(*SHORTENED)), wide) + "  ", "bold"))
    if has_state and columns >= 60:
        line.append((pad(state, 10) + " ", colour))
    when = _age(view, at=at)
    room = columns - width(plain(line)) - width(when) - 2
    # The sign and the group say that already, and the room is for what it does.
    detail = words.detail(view, look, at=at).removeprefix(f"{WAITING['approval']}: ")
    purpose = words.purpose(view)
    text = f"{detail} · {purpose}" if detail and width(detail) + 20 < room else detail or purpose
    text = clip(text, max(room, 0), mark=look.sign("…", "~"))
    line.append((pad(text, max(room, 0)) + "  ", "" if detail else "dim"))
    line.append((when, "dim"))
    return line


def _age(view: View, *, at: datetime) -> str:
    run = view.latest
    if run.state == "running":
        return took_text(run, at=at)
    if run.completed_at is not None and view.standing is None:
        return age(run.completed_at, at=at)
    return age(view.created_at, at=at)
