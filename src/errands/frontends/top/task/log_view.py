"""The output of a run: live, with find, wrap and follow.

Following stops when you scroll up and starts again at the end.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.message import Message
from textual.strip import Strip

from errands.frontends.top.line_view import Line, LineView, printable, strip_of, style_of
from errands.frontends.top.task.log_text import LogText
from errands.model.text.width import uncoloured, width
from errands.text import Look, plural

_MATCH = Style(reverse=True)


class LogView(LineView):
    class Moved(Message):
        """Another part of the output is shown."""

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, id=id)
        self.text: LogText | None = None
        self.is_following = True
        self.is_wrapped = True
        self.wanted = ""  # what is looked for
        self.empty = ""  # what to say instead of missing output
        self._left = 0  # columns that are scrolled away, if lines are not wrapped
        self._is_preparing = False

    def open(self, log: LogText | None, *, empty: str) -> None:
        """Show the output of another run, from its end."""
        self.text, self.empty = log, empty
        self.is_following, self._left = True, 0
        if log is not None:
            log.set_columns(self._row_columns)
            log.grow()
        self._settle(self.rows)

    def grow(self) -> bool:
        """Take in what was printed since; return whether there was anything."""
        if self.text is None or not self.text.grow():
            return False
        self._settle(self.rows if self.is_following else self.top)
        return True

    @property
    def rows(self) -> int:
        return 0 if self.text is None else self.text.rows

    @property
    def status(self) -> str:
        """The line above the output: whether it follows, and how many lines there are."""
        if self.text is None or not self.text.end:
            return ""
        words = ["follow" if self.is_following else f"{min(100, 100 * self._seen // max(self.rows, 1))}%"]
        if not self.is_wrapped:
            words.append("no wrap")
        if self.wanted:
            words.append(f"/{self.wanted}")
        return " · ".join([*words, plural(self.text.lines, "line")])

    @property
    def _seen(self) -> int:
        return self.top + self.height

    @property
    def _row_columns(self) -> int:
        return self.columns if self.is_wrapped else 0

    # Moving.

    def go_to(self, top: int) -> None:
        self._settle(top)
        self.is_following = self.is_at_end
        self.post_message(self.Moved())

    def move_aside(self, columns: int) -> None:
        """Scroll sideways, if lines are not wrapped."""
        if not self.is_wrapped:
            self._left = max(self._left + columns, 0)
            self.refresh()

    def toggle_follow(self) -> None:
        self.is_following = not self.is_following
        if self.is_following:
            self._settle(self.rows)

    def toggle_wrap(self) -> None:
        """Wrap long lines or not; keep the line at the top there if possible."""
        if self.text is None:
            return
        share = self.top / max(self.rows, 1)
        self.is_wrapped, self._left = not self.is_wrapped, 0
        self.text.set_columns(self._row_columns)
        self._settle(self.rows if self.is_following else int(share * self.rows))

    def find(self, wanted: str, *, step: int = 1, from_here: bool = False) -> bool:
        """Go to the next line with a text, or to the one before; return whether there is one."""
        self.wanted = wanted
        if self.text is None or not wanted:
            self.refresh()
            return False
        return self._jump(self.text.find(wanted, self.top - from_here * step, step=step))

    def find_error(self, *, step: int) -> bool:
        return self.text is not None and self._jump(self.text.find_error(self.top, step=step))

    def find_gap(self) -> bool:
        return self.text is not None and self._jump(self.text.find_gap(self.top))

    def _jump(self, row: int | None) -> bool:
        if row is None:
            self.refresh()
            return False
        self.go_to(row)
        self.refresh()
        return True

    def _settle(self, top: int) -> None:
        """Read what is seen from a row on, so that drawing it reads nothing."""
        if self.text is None:
            self.count_rows(1)
            self.refresh()
            return
        for _ in range(4):  # what is read may be shorter than expected, so that more fits
            self.count_rows(max(self.text.rows, 1))
            top = min(max(top, 0), max(self.text.rows - self.height, 0))
            rows = self.text.rows
            top += self.text.prepare(top, self.height)
            if self.text.rows == rows:
                break
        self.count_rows(max(self.text.rows, 1))
        self._is_preparing = True
        super().go_to(top)
        self._is_preparing = False
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._is_preparing and round(old_value) != round(new_value):  # by the wheel
            self.go_to(round(new_value))

    def on_resize(self) -> None:
        if self.text is not None:
            self.text.set_columns(self._row_columns)
            self._settle(self.rows if self.is_following else self.top)

    # Drawing.

    def row(self, number: int) -> Line:
        if self.text is None or not self.text.end:
            return [(self.empty, "dim")] if number == 0 else []
        line, begin, end = self.text.row_at(number)
        return [(uncoloured(line)[begin:end], "")]

    def render_line(self, y: int) -> Strip:
        number = self.top + y
        if self.text is None or not self.text.end or number >= self.virtual_size.height:
            return super().render_line(y)
        line, begin, end = self.text.row_at(number)
        begin, end = begin + self._left, min(end, begin + self._left + self.columns)
        is_plain = "\x1b" not in line
        if is_plain and not self.wanted:
            return strip_of([(line[begin:end], "")], self.columns, self.look)
        text = Text(line) if is_plain else Text.from_ansi(line)
        if self.wanted:
            text.highlight_regex(_pattern(self.wanted), _MATCH)
        return self._strip(text[begin:end])

    def _strip(self, text: Text) -> Strip:
        pieces = list(text.render(self.app.console, end=""))
        segments = [
            Segment(
                printable(piece.text, self.look),
                piece.style if self.look.colour or (piece.style and piece.style.reverse) else None,
            )
            for piece in pieces
        ]
        used = sum(width(piece.text) for piece in segments)
        if used > self.columns:
            return strip_of([(text.plain, "")], self.columns, self.look)
        return Strip([*segments, Segment(" " * (self.columns - used), style_of("", self.look))], self.columns)


def _pattern(wanted: str) -> str:
    import re

    return f"(?i){re.escape(wanted)}"
