"""The lens through which a task's output is looked at: secrets masked, control sequences neutralised.

`--raw` takes the lens away and gives the owner the very bytes.
"""

from __future__ import annotations

import sys

from errands.model.text.sanitise import Stream, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.model.view import View


class OutputFilter:
    """Shows output on standard output, piece by piece."""

    def __init__(self, context: Context, view: View) -> None:
        # On a terminal a carriage return may redraw its own line, which is how progress bars look right.
        self._clean = Stream(colour=context.look.colour, overwrite=sys.stdout.isatty())
        self._mask = context.engine.mask(view.id).stream()
        self._open_line = False

    def show(self, content: bytes) -> None:
        self._write(self._mask.feed(self._clean.feed(content)))

    def pause(self) -> None:
        """Show a prompt whose last word was held back: nothing follows for a while."""
        self._write(self._mask.pause())

    def gap(self, missing: int) -> None:
        """Say that bytes were dropped under the cap."""
        self._write(self._mask.close())
        start = "\n" if self._open_line else ""
        self._write(f"{start}[... {missing:,} bytes not kept ...]\n")

    def close(self) -> None:
        """Show what was held back, and end a line that the task left open on a terminal."""
        self._write(self._mask.feed(self._clean.close()) + self._mask.close())
        if self._open_line and sys.stdout.isatty():
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            put(text.encode(sys.stdout.encoding, "replace"))
            self._open_line = not text.endswith("\n")


class Bare(OutputFilter):
    """No lens: the bytes as they are."""

    def __init__(self) -> None:
        pass

    def show(self, content: bytes) -> None:
        put(content)

    def pause(self) -> None:
        pass

    def gap(self, missing: int) -> None:
        sys.stderr.write(f"errands: {missing:,} bytes were not kept here\n")

    def close(self) -> None:
        pass


def put(content: bytes) -> None:
    """Write all of it to standard output, which may take only a part at a time (PYTHONUNBUFFERED)."""
    sys.stdout.flush()
    rest = memoryview(content)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def clean(context: Context, view: View, content: bytes, *, colour: bool) -> str:
    """Look at a whole piece of output at once."""
    return context.engine.mask(view.id).text(visible(content, colour=colour))
