"""Print a task's output: secrets masked, control sequences removed; with `--raw` the exact bytes."""

from __future__ import annotations

import sys

from errands.frontends.cli.context import Context
from errands.model.text.sanitise import Stream, visible
from errands.model.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.text import mask
    from errands.model.text.mask import Mask
    from errands.ports.output import Piece


class OutputFilter:
    """Prints output to standard output, piece by piece."""

    def __init__(self, context: Context, masking: Mask) -> None:
        # On a terminal a carriage return may redraw its own line, which is how progress bars look right.
        self._clean = Stream(colour=context.look.colour, overwrite=sys.stdout.isatty())
        self._masking = masking
        self._mask: mask.Stream | None = None  # until the first piece says what comes before it
        self._open_line = False

    def show(self, piece: Piece) -> None:
        if self._mask is None:
            self._mask = self._masking.stream(before=visible(piece.before))
        self._write(self._mask.feed(self._clean.feed(piece.content)))

    def pause(self) -> None:
        """Print what was held back: nothing follows for a while, as after a prompt."""
        if self._mask is not None:
            self._write(self._mask.pause())

    def gap(self, missing: int) -> None:
        """Print how many bytes the output cap dropped."""
        if self._mask is not None:
            self._write(self._mask.close())
        start = "\n" if self._open_line else ""
        self._write(f"{start}[... {missing:,} bytes not kept ...]\n")

    def close(self) -> None:
        """Print what was held back, and end an open line on a terminal."""
        if self._mask is not None:
            self._write(self._mask.feed(self._clean.close()) + self._mask.close())
        if self._open_line and sys.stdout.isatty():
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            put(text.encode(sys.stdout.encoding, "replace"))
            self._open_line = not text.endswith("\n")


class Bare(OutputFilter):
    """Prints the bytes as they are."""

    def __init__(self) -> None:
        pass

    def show(self, piece: Piece) -> None:
        put(piece.content)

    def pause(self) -> None:
        pass

    def gap(self, missing: int) -> None:
        sys.stderr.write(f"errands: {missing:,} bytes were not kept here\n")

    def close(self) -> None:
        pass


def put(content: bytes) -> None:
    """Write everything to standard output, which may accept only a part at a time (PYTHONUNBUFFERED)."""
    sys.stdout.flush()
    rest = memoryview(content)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def clean(context: Context, view: View, piece: Piece, *, colour: bool) -> str:
    """Return a whole piece of output, masked and cleaned."""
    mask = context.engine.mask(view.id)
    return mask.output(piece.content, before=piece.before, after=piece.after, colour=colour)


def clean_text(context: Context, view: View, text: str) -> str:
    """Return a whole text of an agent, masked and cleaned."""
    return context.engine.mask(view.id).text(visible(text))
