"""Asking: the question to a person whether a command may start, and their answer.

What is shown is exactly what would run: nothing of it can drive the terminal, hide, reorder itself or forge a
line of the question. Only a typed yes is a yes; everything else, silence included, is a no.
"""

from __future__ import annotations

import os
import select
import sys
import time

from errands.text import pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from errands.text import Look

ANSWER_WITHIN = 600.0  # seconds
LONGEST_ANSWER = 1024

# Letters without a shape: they take room or none, and show nothing.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
# Whatever else is written from right to left moves its neighbours about on some terminals.
_LEFT_TO_RIGHT = frozenset(("L", "EN", "ES", "ET", "CS", "ON", "WS"))


def visible(text: str) -> str:
    """Spell out every character that a terminal would obey, hide, move or lay over another."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _is_plain(character) else spelt(character) for character in text)


def spelt(character: str) -> str:
    """Write a character as its number; a byte that was no text as that byte."""
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
    """Show a text behind a bar, whole: a line of its own looks different from one that was too long.

    So a newline in a command can neither end the frame nor pass for a long line.
    """
    bar, more = look.sign("│ ", "| "), look.sign("┆ ", ": ")
    lines = []
    for line in text.split("\n"):
        first, *rest = _cut(_encodable(visible(line), look), max(room - width(bar), 8))
        lines.append(bar + first)
        lines += [more + each for each in rest]
    return lines


def _cut(text: str, room: int) -> list[str]:
    """Cut a text into pieces of at most so many columns; not a character is left out."""
    pieces, piece, used = [], "", 0
    for character in text:
        wide = 1 if character.isascii() else width(character)
        if used + wide > room:
            pieces.append(piece)
            piece, used = "", 0
        piece += character
        used += wide
    return [*pieces, piece]


def _encodable(text: str, look: Look) -> str:
    return text if look.unicode else "".join(c if c.isascii() else spelt(c) for c in text)


def question(facts: Iterable[tuple[str, str]], look: Look) -> list[str]:
    """Lay out what would run, each fact in a frame of its own; none is shortened."""
    kept = [(name, value) for name, value in facts if value]
    left = max((width(name) for name, _ in kept), default=0)
    room = max(min(look.columns, 110) - left - 4, 12)
    return [line for name, value in kept for line in _fact(name, value, look, left=left, room=room)]


def _fact(name: str, value: str, look: Look, *, left: int, room: int) -> Iterator[str]:
    for number, line in enumerate(framed(value, look, room=room)):
        yield f"  {look.paint(pad(name if number == 0 else '', left), 'dim')}  {line}"


def answered(prompt: str, *, timeout: float = ANSWER_WITHIN) -> bool:
    """Ask on the terminal; yes is `y` or `yes`, and nothing else is: no key, no time, no end of input.

    What was typed before the question was there is no answer to it, so it is thrown away.
    """
    import termios

    source, line = sys.stdin.fileno(), b""
    try:
        with _NoOnSignals():
            termios.tcflush(source, termios.TCIFLUSH)
            sys.stdout.flush()
            sys.stderr.write(prompt)
            sys.stderr.flush()
            line = _line(source, timeout)
        if not line:
            sys.stderr.write("\n")
            sys.stderr.flush()
    except (KeyboardInterrupt, OSError, termios.error):
        # Also when the terminal is gone, and nothing can be said on it.
        line = b""
    return line.strip().lower() in (b"y", b"yes")


def _line(source: int, timeout: float) -> bytes:
    """Read up to the end of a line; nothing at the end of input or of the time."""
    deadline = time.monotonic() + timeout
    said = b""
    while not said.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([source], [], [], left)[0]:
            return b""
        # A terminal hands over whole lines, and what follows may be meant for the task.
        piece = os.read(source, 1)
        if not piece or len(said) > LONGEST_ANSWER:
            return b""
        said += piece
    return said


class _NoOnSignals:
    """Turns the signals that end a program into a no: the question is over when its terminal is."""

    def __enter__(self) -> None:
        import signal

        self._before = {each: signal.signal(each, _interrupt) for each in (signal.SIGTERM, signal.SIGHUP)}

    def __exit__(self, *error: object) -> None:
        import signal

        for each, former in self._before.items():
            signal.signal(each, former)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
