"""Text for people: tables, rules, boxes, sizes and colours, shared by everything that prints.

Nothing here prints or inspects the terminal: a `Look` says what the terminal can show, and is passed in.
"""

from __future__ import annotations

from errands.model.record import record
from errands.model.states import SIGNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Literal, Protocol

    Colour = Literal["red", "green", "yellow", "blue", "magenta", "cyan", "grey", "bold", "dim", ""]

    class Stream(Protocol):
        @property
        def encoding(self) -> str: ...
        def isatty(self) -> bool: ...


CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "grey": "90",
}


@record
class Look:
    """What the output can show: colours, characters beyond ASCII, columns; and how a hint names a command."""

    colour: bool = False
    unicode: bool = True
    columns: int = 80
    prefix: str = "errands "  # in a chat it is a slash

    def command(self, words: str) -> str:
        """Return a command as the reader would type it."""
        return f"{self.prefix}{words}"

    def paint(self, text: str, colour: Colour) -> str:
        """Colour a text if there are colours."""
        return f"\x1b[{CODES[colour]}m{text}\x1b[0m" if self.colour and colour and text else text

    def sign(self, fancy: str, plain: str) -> str:
        """Return a character or its ASCII replacement."""
        return fancy if self.unicode else plain


def wants_colour(stream: Stream, *, setting: str, environ: Mapping[str, str]) -> bool:
    """Return whether to use colours: by setting, NO_COLOR, CLICOLOR_FORCE, or if it is a terminal."""
    if setting != "auto":
        return setting == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"


# --- states --------------------------------------------------------------------------------------

# Of every state: the sign where only ASCII can be shown, and the colour.
STATES: dict[str, tuple[str, Colour]] = {
    "proposed": ("?", "magenta"),
    "rejected": ("x", "grey"),
    "active": ("*", "cyan"),
    "paused": ("=", "yellow"),
    "done": ("+", "green"),
    "pending": ("o", "yellow"),
    "running": ("*", "cyan"),
    "cancelling": ("~", "yellow"),
    "completed": ("+", "green"),
    "failed": ("x", "red"),
    "cancelled": ("-", "grey"),
    "skipped": (">", "grey"),
}


def state_cell(state: str, look: Look) -> Cell:
    """Return a state as people see it: an icon, the word, a colour."""
    plain, colour = STATES.get(state, (".", ""))
    return Cell(text=f"{look.sign(SIGNS.get(state, '·'), plain)} {state}", colour=colour)


# --- widths --------------------------------------------------------------------------------------


# Our own drawing characters take one column each; without this every table would import `unicodedata`.
NARROW = frozenset("".join(map(chr, range(32, 127))) + "●○◐✓✗⊘»‖·…█░─│╭╮╰╯")


def width(text: str) -> int:
    """Return the terminal columns of a text (East Asian wide characters take two, marks none)."""
    if text.isascii() or NARROW.issuperset(text):
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(c) or c in "\u200b\u200d\ufe0f" else 2 if east_asian_width(c) in "WF" else 1
        for c in text
    )


def clip(text: str, columns: int, *, mark: str = "…") -> str:
    """Shorten a text to that many columns; the mark shows that something is missing."""
    if width(text) <= columns:
        return text
    room = max(columns - width(mark), 0)
    if text.isascii():
        return text[:room] + mark[:columns]
    kept, used = [], 0
    for character in text:
        used += width(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept) + mark[:columns]


def shortened(text: str, longest: int, *, rest: str) -> str:
    """Return a text, or the beginning and end of a long one with a hint where the rest is."""
    if len(text) <= longest:
        return text
    half = longest // 2
    gap = f"\n[... {len(text) - 2 * half:,} characters are left out here; {rest} ...]\n"
    return text[:half] + gap + text[-half:]


def framed(name: str, lines: Sequence[str], columns: int, *, rule: str = "─") -> list[str]:
    """Return lines between two rules; the upper one names the background task."""
    head = f"{rule * 3} background: {clip(name, max(8, columns - 23))} "
    return [head + rule * max(3, columns - width(head)), *lines, rule * columns]


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Fill a text with blanks up to that many columns."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def one_line(text: str) -> str:
    """Fold a text of several lines into one."""
    return " ".join(text.split())


def wrap(text: str, columns: int) -> list[str]:
    """Break a text between words into lines of at most that many columns; a longer word stays whole."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            if line and width(line) + 1 + width(word) > columns:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return lines


# --- tables --------------------------------------------------------------------------------------


@record
class Cell:
    """A cell of a table; its colour does not count as width."""

    text: str
    colour: Colour = ""


@record
class Column:
    """A column of a table; `flex` columns shrink down to `least` if it is narrow, 1 before 2."""

    title: str
    right: bool = False
    flex: int = 0
    least: int = 8


def table(columns: Sequence[Column], rows: Iterable[Sequence[str | Cell]], look: Look) -> list[str]:
    """Lay out a table: aligned, flexible columns clipped until it fits, empty columns left out."""
    cells = [[cell if isinstance(cell, Cell) else Cell(text=cell) for cell in row] for row in rows]
    wide = [max((width(row[i].text) for row in cells), default=0) for i in range(len(columns))]
    shown = [i for i in range(len(columns)) if wide[i] or not cells]
    wide = [max(w, width(column.title)) for w, column in zip(wide, columns, strict=True)]
    excess = sum(wide[i] for i in shown) + 2 * (len(shown) - 1) - look.columns
    for i in sorted((i for i in shown if columns[i].flex), key=lambda i: (columns[i].flex, -wide[i])):
        given = min(max(excess, 0), max(wide[i] - columns[i].least, 0))
        wide[i] -= given
        excess -= given
    mark = look.sign("…", "~")

    def line(row: Sequence[Cell]) -> str:
        pieces = []
        for i in shown:
            text = clip(row[i].text, wide[i], mark=mark)
            last = i == shown[-1] and not columns[i].right
            padded = text if last else pad(text, wide[i], right=columns[i].right)
            # Only the text is coloured, never the padding.
            pieces.append(
                padded.replace(text, look.paint(text, row[i].colour), 1) if row[i].colour else padded
            )
        return "  ".join(pieces).rstrip()

    titles = [Cell(text=column.title, colour="dim") for column in columns]
    return [line(titles), *(line(row) for row in cells)]


def facts(pairs: Iterable[tuple[str, str]], look: Look, *, indent: int = 2) -> list[str]:
    """Lay out names and values in two columns; values with several lines keep their indent."""
    kept = [(name, value) for name, value in pairs if value]
    left = max((width(name) for name, _ in kept), default=0)
    lines = []
    for name, value in kept:
        first, *rest = value.split("\n")
        lines.append(" " * indent + look.paint(pad(name, left), "dim") + "  " + first)
        lines.extend(" " * (indent + left + 2) + line for line in rest)
    return lines


def rule(title: str, look: Look) -> str:
    """Return a horizontal line with a title in it."""
    dash = look.sign("─", "-")
    head = f"{dash}{dash} {title} " if title else ""
    length = min(look.columns, 80) - width(head)
    return look.paint(head + dash * max(length, 2), "dim")


# --- amounts -------------------------------------------------------------------------------------


UNITS = (("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40))


def size(count: int) -> str:
    """Return a number of bytes for people: `512 B`, `1.5 KiB`, `10 MiB`."""
    if count < 1024:
        return f"{count} B"
    name, factor = next(u for u in UNITS[:0:-1] if count >= u[1])
    return f"{count / factor:.1f}".removesuffix(".0") + f" {name}"


def plural(count: int, noun: str, many: str = "") -> str:
    """Return a number and its noun: `1 task`, `3 tasks`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most similar to an unknown one, or an empty string."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), "")


def fenced(text: str | bytes, label: str) -> str:
    """Wrap text as data for an agent, with a boundary that its author could not know."""
    import os

    from errands.model.text.sanitise import fence

    # Eight digits are enough: should a text contain them by chance, they are replaced in it.
    return fence(text, boundary=os.urandom(4).hex(), label=label)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean X?)` for the most similar known word, or an empty string."""
    near = nearest(word, known)
    return f" (did you mean {near}?)" if near else ""
