"""The question whether something may start, as everything that asks it shows it.

It shows exactly what would run: no part of it can control the terminal, hide, reorder itself or forge a line
of the question.
"""

from __future__ import annotations

from errands.text import Look, pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TAB = "    "
# Letters that show nothing, with or without width.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
# Characters of any other direction move their neighbours on some terminals.
_LEFT_TO_RIGHT = frozenset(("L", "EN", "ES", "ET", "CS", "ON", "WS"))


def visible(text: str) -> str:
    """Escape every character that a terminal would interpret, hide, move or overlay; a tab becomes spaces."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\t", TAB)
    return "".join(character if _is_plain(character) else escaped(character) for character in text)


def is_visible(text: str) -> bool:
    """Return whether a text of several lines shows all that it says."""
    return all(visible(line) == line.replace("\t", TAB) for line in text.split("\n"))


def escaped(character: str) -> str:
    """Return a character as its number; a byte that is not text as that byte."""
    number = ord(character)
    return f"<0x{number - 0xDC00:02X}>" if 0xDC80 <= number <= 0xDCFF else f"<U+{number:04X}>"


def _is_plain(character: str) -> bool:
    if not character.isprintable() or character in _BLANK:
        return False
    if character.isascii():
        return True
    from unicodedata import bidirectional, category

    return bidirectional(character) in _LEFT_TO_RIGHT and not category(character).startswith("M")


def framed(text: str, look: Look, *, room: int) -> list[str]:
    """Return a whole text behind a bar; a wrapped line looks different from a new one.

    So a newline in a command can neither end the frame nor pass for a wrapped line.
    """
    bar, more = look.sign("│ ", "| "), look.sign("┆ ", ": ")
    lines = []
    for line in text.split("\n"):
        first, *rest = _cut(_encodable(visible(line), look), max(room - width(bar), 8))
        lines.append(bar + first)
        lines += [more + each for each in rest]
    return lines


def _cut(text: str, room: int) -> list[str]:
    """Cut a text into pieces of at most `room` columns, losing no character, between words if possible."""
    pieces, piece, used = [], "", 0
    for place, character in enumerate(text):
        wide = 1 if character.isascii() else width(character)
        if used + wide > room:
            end = _last_joint(piece, text[place:], room)
            pieces.append(piece[:end])
            piece = piece[end:]
            used = width(piece)
        piece += character
        used += wide
    return [*pieces, piece]


def _last_joint(piece: str, rest: str, room: int) -> int:
    """Return where to cut a piece: before its last word if a line holds that, in a path, or at its end."""
    begun = piece.rpartition(" ")[2]
    word = begun + rest[: 2 * room].partition(" ")[0]
    if width(word) > room:
        joint = max(begun.rfind("/"), begun.rfind("-") if "/" not in begun else -1)
        return len(piece) - len(begun) + joint + 1 if joint > 0 else len(piece)
    return len(piece) - len(begun)


def _encodable(text: str, look: Look) -> str:
    return text if look.unicode else "".join(c if c.isascii() else escaped(c) for c in text)


def question(facts: Iterable[tuple[str, str]], look: Look) -> list[str]:
    """Lay out what would run, each fact in its own frame, unshortened."""
    kept = [(name, value) for name, value in facts if value]
    left = max((width(name) for name, _ in kept), default=0)
    room = max(min(look.columns, 110) - left - 4, 12)
    return [line for name, value in kept for line in _fact(name, value, look, left=left, room=room)]


def _fact(name: str, value: str, look: Look, *, left: int, room: int) -> Iterator[str]:
    for number, line in enumerate(framed(value, look, room=room)):
        yield f"  {look.paint(pad(name if number == 0 else '', left), 'dim')}  {line}"
