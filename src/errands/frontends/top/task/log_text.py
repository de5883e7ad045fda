"""The text of a log: cut into chunks that are read, masked and cleaned when one of their rows is seen.

Masking and cleaning a whole log of 10 MiB takes more than a second, a chunk of it a few milliseconds. How
many rows a chunk has is estimated until it is read; `prepare` reads what is seen and says by how much the
rows above it have moved.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from errands.frontends.top.line_view import cut
from errands.model.text.mask import Mask
from errands.model.text.width import uncoloured
from errands.ports.output import Piece
from errands.text.error_line import LOOKS_LIKE_ERROR

CHUNK = 64 * 1024  # bytes
_AT_ONCE = 1 << 20  # bytes of one read
_KEPT = 6  # chunks that are kept as text
_COLOUR = re.compile(rb"\x1b\[[0-9;:]*m")
_SAFE = 96  # bytes before a hard cut, where a sequence or a character may have begun

Read = Callable[[int, int], Piece]


@dataclass(slots=True)
class _Chunk:
    offset: int
    size: int
    lines: int
    is_open: bool  # whether its last line continues
    missing: int = 0  # bytes before it that were not kept
    rows: int = 1
    is_read: bool = False


@dataclass(slots=True)
class _Text:
    """A chunk as text: its lines, and each row as a line and the part of it."""

    lines: list[str] = field(default_factory=list)
    rows: list[tuple[int, int, int]] = field(default_factory=list)


class LogText:
    """What a run has printed, as rows of a width; 0 columns mean that lines are not wrapped."""

    def __init__(self, read: Read, mask: Mask, *, colour: bool, columns: int = 80) -> None:
        self._read = read
        self._mask = mask
        self._colour = colour
        self._columns = columns
        self._chunks: list[_Chunk] = []
        self._starts: list[int] = [0]  # the first row of each chunk, and the number of all rows
        self._texts: OrderedDict[int, _Text] = OrderedDict()
        self.end = 0  # how far the log is known

    # Size.

    @property
    def rows(self) -> int:
        return self._starts[-1]

    @property
    def lines(self) -> int:
        return sum(each.lines for each in self._chunks)

    def grow(self, most: int = 16 << 20) -> bool:
        """Take in what was printed since; return whether anything was. `most` limits the bytes."""
        until, grown = self.end + most, False
        while self.end < until:
            piece = self._read(self.end, _AT_ONCE)
            if not piece.content:
                self.end = max(self.end, piece.next_offset)
                break
            self._add(piece)
            grown = True
        if grown:
            self._count()
        return grown

    def _add(self, piece: Piece) -> None:
        content, offset = piece.content, piece.offset
        last = self._chunks[-1] if self._chunks else None
        if last is not None and not piece.missing and last.size < CHUNK:
            # The last chunk is filled up, so that lines that come one by one do not become chunks.
            taken = _cut_at(content, CHUNK - last.size, is_end=False)
            last.size += taken
            last.lines += content[:taken].count(b"\n")
            last.is_open = content[taken - 1] != 10
            self._texts.pop(len(self._chunks) - 1, None)
            if last.is_read:  # its rows are counted at once, because those above must not move
                self._load(len(self._chunks) - 1)
            content, offset = content[taken:], offset + taken
        missing = piece.missing
        while content:
            taken = _cut_at(content, CHUNK, is_end=True)
            part = content[:taken]
            self._chunks.append(
                _Chunk(
                    offset=offset,
                    size=taken,
                    lines=part.count(b"\n"),
                    is_open=part[-1] != 10,
                    missing=missing,
                ),
            )
            missing = 0
            content, offset = content[taken:], offset + taken
        self.end = piece.next_offset

    def set_columns(self, columns: int) -> None:
        """Break the lines for another width."""
        if columns != self._columns:
            self._columns = columns
            self._texts.clear()
            for each in self._chunks:
                each.is_read = False
            self._count()

    def _count(self) -> None:
        starts = [0]
        for each in self._chunks:
            if not each.is_read:
                wrapped = each.size // self._columns if self._columns else 0
                each.rows = max(each.lines + each.is_open, wrapped, 1) + bool(each.missing)
            starts.append(starts[-1] + each.rows)
        self._starts = starts

    # Reading.

    def prepare(self, top: int, height: int) -> int:
        """Read the chunks of the visible rows; return how many rows they have moved down."""
        moved = 0
        while True:
            first, last = self._chunk_at(top + moved), self._chunk_at(top + moved + height)
            unread = next(
                (
                    each
                    for each in range(first, last + 1)
                    if each < len(self._chunks) and not self._chunks[each].is_read
                ),
                None,
            )
            if unread is None:
                return moved
            start = self._starts[unread]
            delta = self._load(unread)
            if start < top + moved:
                moved += delta

    def row_at(self, row: int) -> tuple[str, int, int]:
        """Return the line that a row belongs to, and which part of it, counted without colours."""
        text, place = self._found(row)
        if place >= len(text.rows):
            return "", 0, 0
        number, begin, end = text.rows[place]
        return text.lines[number], begin, end

    def _found(self, row: int) -> tuple[_Text, int]:
        number = self._chunk_at(row)
        return self._text(number), row - self._starts[number]

    def _chunk_at(self, row: int) -> int:
        from bisect import bisect_right

        return min(max(bisect_right(self._starts, row) - 1, 0), max(len(self._chunks) - 1, 0))

    def _load(self, number: int) -> int:
        """Read a chunk and count its rows; return how many more there are than estimated."""
        chunk = self._chunks[number]
        self._texts.pop(number, None)
        rows = max(len(self._text(number).rows), 1)
        delta, chunk.rows, chunk.is_read = rows - chunk.rows, rows, True
        if delta:
            self._starts[number + 1 :] = [each + delta for each in self._starts[number + 1 :]]
        return delta

    def _text(self, number: int) -> _Text:
        if number in self._texts:
            self._texts.move_to_end(number)
            return self._texts[number]
        if number >= len(self._chunks):
            return _Text()
        text = self._made(number)
        self._texts[number] = text
        while len(self._texts) > _KEPT:
            self._texts.popitem(last=False)
        return text

    def _made(self, number: int) -> _Text:
        lines = [each.expandtabs() if "\t" in each else each for each in self._lines(self._chunks[number])]
        rows = []
        for place, each in enumerate(lines):
            shown = uncoloured(each)
            parts = cut(shown, self._columns) if self._columns else [(0, len(shown))]
            rows += [(place, begin, end) for begin, end in parts]
        return _Text(lines=lines, rows=rows)

    def _lines(self, chunk: _Chunk) -> Iterator[str]:
        """Read the lines of a chunk; where it was overwritten meanwhile, a note says so."""
        if chunk.missing:
            yield _gap(chunk.missing)
        at, end, texts = chunk.offset, chunk.offset + chunk.size, []
        while at < end:
            piece = self._read(at, end - at)
            if piece.missing and piece.offset > at:
                texts.append(_gap(min(piece.offset, end) - at) + "\n")
            if piece.next_offset <= at or piece.offset >= end:
                break
            texts.append(
                self._mask.output(piece.content, before=piece.before, after=piece.after, colour=self._colour)
            )
            at = piece.next_offset
        text = "".join(texts)
        yield from text.removesuffix("\n").split("\n") if text else ()

    # Finding.

    def find(self, wanted: str, row: int, *, step: int) -> int | None:
        """Return the row of the next line with a text, upper or lower case, or of the one before."""
        low = wanted.casefold()
        raw = wanted.lower().encode() if wanted.isascii() else None
        return self._search(lambda line: low in line.casefold(), row, step, raw)

    def find_error(self, row: int, *, step: int) -> int | None:
        """Return the row of the next line that looks like an error, or of the one before."""
        return self._search(lambda line: LOOKS_LIKE_ERROR.search(line) is not None, row, step, None)

    def find_gap(self, row: int) -> int | None:
        """Return the row of the next place where output was not kept; from the last one on, the first."""
        gaps = [self._starts[number] for number, each in enumerate(self._chunks) if each.missing]
        return next((each for each in gaps if each > row), gaps[0] if gaps else None)

    def _search(self, fits: Callable[[str], object], row: int, step: int, raw: bytes | None) -> int | None:
        first = number = self._chunk_at(row)
        while 0 <= number < len(self._chunks):
            if raw is None or raw in self._raw(self._chunks[number]):
                found = self._matching(number, fits)
                if number == first:
                    place = row - self._starts[number]
                    found = [each for each in found if (each > place if step > 0 else each < place)]
                if found:
                    if not self._chunks[number].is_read:
                        self._load(number)
                    return self._starts[number] + found[0 if step > 0 else -1]
            number += step
        return None

    def _matching(self, number: int, fits: Callable[[str], object]) -> list[int]:
        """Return the first rows of the lines of a chunk that fit, counted from its beginning."""
        text, seen, found = self._text(number), -1, []
        for place, (line, _, _) in enumerate(text.rows):
            if line != seen and fits(uncoloured(text.lines[line])):
                found.append(place)
            seen = line
        return found

    def _raw(self, chunk: _Chunk) -> bytes:
        """Return the bytes of a chunk in lower case, without colours, which may stand inside a word."""
        piece = self._read(chunk.offset, chunk.size)
        content = piece.content
        if b"\x1b" in content:
            content = _COLOUR.sub(b"", content)
        return content.lower()


def _cut_at(content: bytes, most: int, *, is_end: bool) -> int:
    """Return how many bytes to take: up to `most`, whole lines if possible, whole characters in any case."""
    if len(content) <= most:
        return len(content)
    newline = content.rfind(b"\n", 0, most)
    if newline >= 0:
        return newline + 1
    if not is_end and most < CHUNK // 2:
        newline = content.find(b"\n", most, most + CHUNK // 2)
        if newline >= 0:
            return newline + 1
    escape = content.rfind(b"\x1b", max(most - _SAFE, 0), most)
    at = escape if escape > 0 else most
    while at > 1 and at > most - 2 * _SAFE and 0x80 <= content[at] < 0xC0:
        at -= 1
    return at


def _gap(missing: int) -> str:
    return f"[... {missing:,} bytes not kept ...]"
