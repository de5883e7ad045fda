"""Line views: widgets that draw only their visible lines, however many they have."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from errands.model.text.width import clip, clusters, uncoloured, width
from errands.text import Look

# A piece of a line and how it looks: a colour of `errands.text`, or several words for Rich.
Piece = tuple[str, str]
Line = list[Piece]

# Our own signs where only ASCII can be shown; what tasks say becomes question marks.
_ASCII = str.maketrans({"·": "-", "…": "~", "─": "-", "│": "|", "┆": ":", "●": "*", "→": ">"})
_STYLES = {"grey": "bright_black", "dim": "dim", "bold": "bold"}


def style_of(name: str, look: Look) -> Style:
    """Return how a piece is drawn; without colours, only bold, dim and reversed are left."""
    words = [_STYLES.get(word, word) for word in name.split()]
    if not look.colour:
        words = [word for word in words if word in ("bold", "reverse", "underline")]
    return Style.parse(" ".join(words)) if words else Style.null()


def printable(text: str, look: Look) -> str:
    """Return a text as the terminal can show it: in ASCII every other character becomes question marks."""
    if look.unicode or text.isascii():
        return text
    text = text.translate(_ASCII)
    return "".join(each if each.isascii() else "?" * columns for each, columns in clusters(text))


def strip_of(line: Line, columns: int, look: Look, *, more: str = "") -> Strip:
    """Draw a line in that many columns; what is too long is clipped, and `more` applies to all of it."""
    segments, room = [], columns
    for text, name in line:
        if room <= 0:
            break
        shown = printable(text, look)
        if width(shown) > room:
            shown = clip(shown, room, mark=look.sign("…", "~"))
        room -= width(shown)
        segments.append(Segment(shown, style_of(f"{name} {more}".strip(), look)))
    if room > 0:
        segments.append(Segment(" " * room, style_of(more, look)))
    return Strip(segments, columns)


def plain(line: Line) -> str:
    return "".join(text for text, _ in line)


def painted(text: str) -> Line:
    """Turn a text with the colour sequences of `Look.paint` into a line."""
    if "\x1b" not in text:
        return [(text, "")]
    from errands.text import CODES

    names = {code: name for name, code in CODES.items()}
    first, *rest = text.split("\x1b[")
    line: Line = [(first, "")]
    for each in rest:
        code, _, words = each.partition("m")
        line.append((words, names.get(code, "")))
    return [piece for piece in line if piece[0]]


def cut(text: str, columns: int) -> list[tuple[int, int]]:
    """Break a text into rows of at most that many columns; return their beginnings and ends."""
    columns = max(columns, 2)  # a wide character must fit
    if text.isascii():
        return [(at, min(at + columns, len(text))) for at in range(0, max(len(text), 1), columns)]
    rows, begin, at, used = [], 0, 0, 0
    for cluster, wide in clusters(text):
        if used + wide > columns:
            rows.append((begin, at))
            begin, used = at, 0
        at += len(cluster)
        used += wide
    return [*rows, (begin, len(text))]


class LineView(ScrollView):
    """A view that draws lines; `columns` is how wide it is."""

    DEFAULT_CSS = """
    LineView { scrollbar-size: 0 0; background: ansi_default; overflow-x: hidden; overflow-y: hidden; }
    """
    can_focus = False
    wheel = 3  # rows that the wheel of the mouse moves

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(id=id)
        self.look = look

    @property
    def columns(self) -> int:
        return self.size.width or 80

    @property
    def top(self) -> int:
        """The first row that is seen."""
        return round(self.scroll_y)

    @property
    def height(self) -> int:
        """How many rows are seen."""
        return max(self.size.height, 1)

    @property
    def is_at_end(self) -> bool:
        return self.top + self.height >= self.virtual_size.height

    def count_rows(self, count: int) -> None:
        """Say how many rows there are."""
        self.virtual_size = Size(self.columns, count)

    def row(self, number: int) -> Line:
        raise NotImplementedError

    def row_style(self, number: int) -> str:
        """Return what applies to the whole row, such as that it is chosen."""
        return ""

    def go_to(self, top: int) -> None:
        """Scroll to a row, so that it is at the top unless too few follow it."""
        last = max(self.virtual_size.height - self.height, 0)
        self.scroll_to(y=min(max(top, 0), last), animate=False, force=True, immediate=True)

    def move(self, rows: int) -> None:
        self.go_to(self.top + rows)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(self.wheel)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-self.wheel)

    def render_line(self, y: int) -> Strip:
        number = self.top + y
        if number >= self.virtual_size.height:
            return Strip.blank(self.columns)
        return strip_of(self.row(number), self.columns, self.look, more=self.row_style(number))

    def screen_text(self) -> str:
        """Return what is seen, without colours."""
        seen = range(self.top, min(self.top + self.height, self.virtual_size.height))
        return "\n".join(uncoloured(plain(self.row(each))).rstrip() for each in seen)


class TextView(LineView):
    """A text that was read as a whole: a question, the runs of a task, a conversation, a trace, the keys."""

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, id=id)
        self._lines: list[Line] = []

    def set_lines(self, lines: list[Line]) -> None:
        """Show other lines; the place stays."""
        self._lines = lines
        self.count_rows(len(lines))
        self.go_to(self.top)
        self.refresh()

    def row(self, number: int) -> Line:
        return self._lines[number]
