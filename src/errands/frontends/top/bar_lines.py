"""The text of the bars and of the help: counts, the names of the views, the filter and the keys."""

from __future__ import annotations

import os
from collections.abc import Sequence

from errands.frontends.tools.keys import KEYS, PLACES, VIEWS
from errands.frontends.top.feed import NowFacts
from errands.frontends.top.line_view import Line
from errands.model.text.sanitise import line as safe
from errands.text import pad, plural, wrap

ROOMY = 60  # with this many columns, names are written out


def home_name(path: str) -> str:
    """Return the path of the home, short if it is in the person's own directory."""
    mine = os.path.expanduser("~")
    return safe("~" + path[len(mine) :] if path.startswith(mine + "/") else path)


def count_line(facts: NowFacts, columns: int) -> Line:
    """Count what waits, runs and has failed."""
    is_roomy = columns >= ROOMY
    gap = (" · " if is_roomy else " ", "dim")
    line: Line = []
    if facts.waiting:
        who = " for you" if is_roomy else ""
        line += [(f"{len(facts.waiting)} waiting{who}", "magenta"), gap]
    line += [(f"{len(facts.running)} running", "cyan" if facts.running else "dim"), gap]
    if facts.failed:
        line += [(f"{len(facts.failed)} failed", "red"), gap]
    return line


def view_line(shown: str, columns: int) -> tuple[Line, list[tuple[int, int, str]]]:
    """Name the views with their keys; return also from where to where each can be clicked."""
    line: Line = []
    names = []
    at = 0
    for number, (name, title) in enumerate(VIEWS, start=1):
        text = f" {number} {title} " if name == shown or columns >= ROOMY else f" {number} "
        line += [(text, "reverse" if name == shown else ""), (" ", "")]
        names.append((at, at + len(text), f"view {name}"))
        at += len(text) + 1
    return line, names


def filter_line(wanted: str, shown: int, total: int, selected: int, columns: int) -> Line:
    """Say how many tasks are listed and selected, and which filter leaves the others out."""
    if selected and not wanted:
        noun = " tasks" if columns >= ROOMY else ""
        return [(f"{selected:,} of {total:,}{noun} selected", "yellow")]
    line: Line = [(f"{selected:,} selected · ", "yellow")] if selected else []
    if wanted:
        return [*line, (f"/{safe(wanted)} · ", "cyan"), (f"{shown:,} of {total:,}", "dim")]
    return [(plural(total, "task"), "dim")]


def key_line(actions: Sequence[str], columns: int = 1000) -> Line:
    """List the keys of actions, as many as fit."""
    line: Line = []
    for action in actions:
        key = next(each for each in KEYS if each.action == action)
        name = {"escape": "esc"}.get(key.keys[0], key.keys[0])
        columns -= len(name) + len(key.label) + 3
        if columns < 0:
            break
        line += [(name, "bold"), (f" {key.label}  ", "dim")]
    return line


def help_lines(columns: int) -> list[Line]:
    """List all keys, by where they work."""
    lines: list[Line] = []
    for place, title in PLACES.items():
        lines.append([(title[0].upper() + title[1:], "bold")])
        for key in KEYS:
            if key.place == place:
                first, *rest = wrap(key.help, max(columns - 20, 12))
                lines.append([("  " + pad(" ".join(key.keys), 18), "cyan"), (first, "")])
                lines += [[(" " * 20 + each, "")] for each in rest]
    return lines
