"""A table of figures, one per topic; the same text serves the terminal and the README."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.figure import Figure

HEADS = ("what", "value", "peer or limit", "ratio", "bar", "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    title: str
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = [figure.cells() for figure in self.figures]
        widths = [max(map(len, column)) for column in zip(HEADS, *rows, strict=True)]
        rule = "|".join("-" * (width + 2) for width in widths)
        lines = [f"### {self.title}", "", _line(HEADS, widths), f"|{rule}|"]
        lines += [_line(row, widths) for row in rows]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
