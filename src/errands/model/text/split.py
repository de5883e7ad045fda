"""Split a long text into messages that Discord accepts, each readable on its own.

Cuts are between lines where possible, and a code fence that is cut is closed and opened again.
"""

from __future__ import annotations

LIMIT = 2000
FENCE = "```"
_MARGIN = "> "
_CLOSING = len(_MARGIN) + len(FENCE) + 1  # characters needed to close a fence


def split(text: str, limit: int = LIMIT) -> list[str]:
    """Split a text; only line breaks at the cuts are lost."""
    pieces: list[str] = []
    piece: list[str] = []
    size = 0
    opened = ""  # the line that opened the fence we are in
    for line in _lines(text, limit - 2 * len(FENCE) - 60):
        if piece and size + length(line) + 1 + _CLOSING > limit:
            pieces.append(_closed(piece, opened))
            piece, size = ([opened], length(opened) + 1) if opened else ([], 0)
        piece.append(line)
        size += length(line) + 1
        if _is_fence(line):
            opened = "" if opened else _short(line)
    if piece:
        pieces.append(_closed(piece, opened))
    return [each for each in pieces if each.strip()] or ["(nothing)"]


def length(text: str) -> int:
    """Count UTF-16 units, the strictest count: a character beyond the first plane is two."""
    return len(text) + sum(c > "\uffff" for c in text)


def _lines(text: str, longest: int) -> list[str]:
    """Split a text into lines; cut those that are too long, at a blank if possible."""
    lines: list[str] = []
    for line in text.split("\n"):
        rest, margin = line, _margin(line)
        while length(rest) > longest:
            cut = longest
            while (excess := length(rest[:cut]) - longest) > 0:
                cut -= (excess + 1) // 2  # as if each were two: never too much, so that a piece is not empty
            blank = rest.rfind(" ", len(margin) + 1, cut)
            place = blank if blank > cut // 2 else cut
            lines.append(rest[:place])
            rest = margin + rest[place:].removeprefix(" ")
        lines.append(rest)
    return lines


def _is_fence(line: str) -> bool:
    return line.removeprefix(_MARGIN).lstrip().startswith(FENCE) and line.count(FENCE) == 1


def _margin(line: str) -> str:
    return _MARGIN if line.startswith(_MARGIN) else ""


def _short(line: str) -> str:
    """Return the line that opens a fence again, without a language name that is too long."""
    return line if len(line) <= 40 else _margin(line) + FENCE


def _closed(piece: list[str], opened: str) -> str:
    return "\n".join([*piece, _margin(opened) + FENCE] if opened else piece)
