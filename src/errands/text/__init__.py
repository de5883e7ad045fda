"""Text for people: tables, rules, boxes, sizes and colours, shared by everything that prints.

Nothing here prints or inspects the terminal: a `Look` says what the terminal can show, and is passed in.
"""

from __future__ import annotations

from errands.model.record import record
from errands.model.states import SIGNS
from errands.model.text.width import clip as clip
from errands.model.text.width import fitting as fitting
from errands.model.text.width import pad as pad
from errands.model.text.width import width as width
from errands.model.text.width import wrap as wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """Return whether to use colours: by setting, the usual variables, or if it is a terminal.

    Of the variables NO_COLOR wins, as in Python; FORCE_COLOR=0 and CLICOLOR=0 mean no colours.
    """
    if setting != "auto":
        return setting == "always"
    if environ.get("NO_COLOR"):
        return False
    force = environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE")
    if force:
        return force not in ("0", "false")
    if environ.get("CLICOLOR") == "0":
        return False
    return stream.isatty() and environ.get("TERM") != "dumb"


# --- states --------------------------------------------------------------------------------------

# Of every state: the sign where only ASCII can be shown, and the colour.
STATES: dict[str, tuple[str, Colour]] = {
    "proposed": ("?", "magenta"),
    "rejected": ("x", "grey"),
    "active": ("o", "cyan"),
    "paused": ("=", "yellow"),
    "done": ("+", "green"),
    "pending": ("o", "yellow"),
    "running": ("*", "cyan"),
    "resumed": ("*", "cyan"),
    "cancelling": ("~", "yellow"),
    "held": ("=", "yellow"),
    "completed": ("+", "green"),
    "failed": ("x", "red"),
    "cancelled": ("-", "grey"),
    "skipped": (">", "grey"),
}


# Of the hosts of a fleet.
HOST_COLOURS: dict[str, Colour] = {"up": "green", "draining": "yellow", "gone": "red"}


def state_cell(state: str, look: Look) -> Cell:
    """Return a state as people see it: an icon, the word, a colour."""
    plain, colour = STATES.get(state, (".", ""))
    return Cell(text=f"{look.sign(SIGNS.get(state, '·'), plain)} {state}", colour=colour)


def titled(name: str, state: str, look: Look) -> str:
    """Return the first line about a task: its id and its state."""
    cell = state_cell(state, look)
    return f"{look.paint(name, 'bold')}  {look.paint(cell.text, cell.colour)}"


# --- pieces of text ------------------------------------------------------------------------------


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


def one_line(text: str) -> str:
    """Fold a text of several lines into one."""
    return " ".join(text.split())


# --- tables --------------------------------------------------------------------------------------


@record
class Cell:
    """A cell of a table; its colour does not count as width. `fit` shortens it better than clipping would."""

    text: str
    colour: Colour = ""
    fit: Callable[[int], str] | None = None


@record
class Column:
    """A column of a table.

    If the table is too wide, columns shrink to their `least` width, those with a low `flex` first, the widest
    of them most, and those without one never. If that is not enough, columns are left out, those with a high
    `drop` first and those without one never. The text of a column that `wraps`, which is the last one,
    continues below instead of being clipped.
    """

    title: str
    right: bool = False
    flex: int = 0
    least: int = 8
    drop: int = 0
    wraps: bool = False


def table(columns: Sequence[Column], rows: Iterable[Sequence[str | Cell]], look: Look) -> list[str]:
    """Lay out a table that fits: aligned, empty columns left out."""
    cells = [[cell if isinstance(cell, Cell) else Cell(text=cell) for cell in row] for row in rows]
    wide = [max((width(row[i].text) for row in cells), default=0) for i in range(len(columns))]
    shown = [i for i in range(len(columns)) if wide[i] or not cells]
    wide = [max(w, width(column.title)) for w, column in zip(wide, columns, strict=True)]
    shown = _fitted(columns, wide, shown, look.columns)
    mark = look.sign("…", "~")

    def lines(row: Sequence[Cell]) -> list[str]:
        pieces: list[str] = []
        more: list[str] = []
        for i in shown:
            text = row[i].text
            if row[i].fit is not None and width(text) > wide[i]:
                text = row[i].fit(wide[i])  # type: ignore[misc]
            if columns[i].wraps and width(text) > wide[i]:
                text, *more = wrap(text, wide[i])
            else:
                text = clip(text, wide[i], mark=mark)
            last = i == shown[-1] and not columns[i].right
            padded = text if last else pad(text, wide[i], right=columns[i].right)
            # Only the text is coloured, never the padding.
            pieces.append(
                padded.replace(text, look.paint(text, row[i].colour), 1) if row[i].colour else padded
            )
        blank = " " * sum(wide[i] + 2 for i in shown[:-1])
        return ["  ".join(pieces).rstrip(), *(blank + each for each in more)]

    titles = [Cell(text=column.title, colour="dim") for column in columns]
    return [line for row in (titles, *cells) for line in lines(row)]


def _fitted(columns: Sequence[Column], wide: list[int], shown: list[int], room: int) -> list[int]:
    """Shrink the widths until the columns fit; return those that are still shown."""
    least = [min(w, column.least) if column.flex else w for w, column in zip(wide, columns, strict=True)]
    shown = list(shown)
    while sum(least[i] + 2 for i in shown) - 2 > room and any(columns[i].drop for i in shown):
        shown.remove(max(shown, key=lambda i: (columns[i].drop, i)))
    excess = sum(wide[i] + 2 for i in shown) - 2 - room
    levels = sorted({columns[i].flex for i in shown if columns[i].flex})
    # Finally, where even the least is too wide, every column shrinks.
    for low, chosen in (
        *((least, [i for i in shown if columns[i].flex == flex]) for flex in levels),
        ([1] * len(wide), shown),
    ):
        while excess > 0 and (wider := [i for i in chosen if wide[i] > low[i]]):
            wide[max(wider, key=lambda i: wide[i])] -= 1
            excess -= 1
    return shown


NARROWEST = 20  # columns for the values of facts, before they go under their names


def facts(pairs: Iterable[tuple[str, str]], look: Look, *, indent: int = 2) -> list[str]:
    """Lay out names and values in two columns; values keep their lines, and wrap at words."""
    kept = [(name, value) for name, value in pairs if value]
    left = max((width(name) for name, _ in kept), default=0) + 2
    is_stacked = look.columns - indent - left < NARROWEST
    blank = " " * (indent + (2 if is_stacked else left))
    lines = []
    for name, value in kept:
        hang, below = 2 if "\n" in value else 0, blank
        values = wrap(value, look.columns - len(blank), hang=hang)
        if is_stacked or any(width(each) > look.columns - len(blank) for each in values):
            # A word that is too wide beside its name may fit below it.
            below = " " * (indent + 2)
            values = wrap(value, look.columns - len(below), hang=hang)
            lines.append(" " * indent + look.paint(name, "dim"))
        else:
            lines.append(" " * indent + look.paint(pad(name, left), "dim") + values.pop(0))
        lines.extend(below + each for each in values)
    return lines


def rule(title: str, look: Look) -> str:
    """Return a horizontal line with a title in it."""
    dash = look.sign("─", "-")
    head = f"{dash}{dash} {title} " if title else ""
    length = min(look.columns, 80) - width(head)
    return look.paint(head + dash * max(length, 2), "dim")


def last_output(text: str, look: Look) -> list[str]:
    """Return the end of an output between two rules; nothing if there is none."""
    if not text.strip("\n"):
        return []
    lines = text.rstrip("\n").split("\n")
    last = "last line" if len(lines) == 1 else f"last {len(lines)} lines"
    return [rule(f"{last} of output", look), *lines, rule("", look)]


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

    # A short word must match better: `me` is not like `move`.
    cutoff = 0.65 if len(word) > 2 else 0.7
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=cutoff)), "")


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
