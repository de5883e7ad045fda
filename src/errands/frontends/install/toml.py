"""A table of a TOML file, added and taken out as text; everything else stays as it was written."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from errands.model.errors import BadValue


def read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadValue(str(error)) from None


def put(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """Add a table at the end, or write it anew where it stands."""
    wanted = _with(read(text), path, value)
    block = written(path, value)
    lines = text.splitlines(keepends=True)
    place = _place(lines, path)
    if place is not None:
        start, end = place
        tail = "" if end == len(lines) else "\n"
        after = "".join(lines[:start]) + block + tail + "".join(lines[end:])
    else:
        end_of_line = "" if not text or text.endswith("\n") else "\n"
        after = text + end_of_line + ("\n" if text.strip() else "") + block
    return _checked(after, wanted, path)


def remove(text: str, path: tuple[str, ...]) -> str:
    """Take a table out, with the blank line that was put before it."""
    wanted = _with(read(text), path, None)
    lines = text.splitlines(keepends=True)
    place = _place(lines, path)
    if place is None:
        raise _elsewhere(path)
    start, end = place
    if end == len(lines) and start and not lines[start - 1].strip():
        start -= 1
    return _checked("".join(lines[:start] + lines[end:]), wanted, path)


def written(path: tuple[str, ...], value: dict[str, Any]) -> str:
    """Write a table; what holds tables is written as tables of its own."""
    plain = {name: each for name, each in value.items() if not isinstance(each, dict)}
    inner = {name: each for name, each in value.items() if isinstance(each, dict)}
    # Strings and lists of strings are written alike in TOML and JSON.
    block = f"[{'.'.join(path)}]\n" + "".join(
        f"{name} = {json.dumps(each)}\n" for name, each in plain.items()
    )
    return block + "".join("\n" + written((*path, name), each) for name, each in inner.items())


def _place(lines: list[str], path: tuple[str, ...]) -> tuple[int, int] | None:
    """Find the lines of a table and of those below it."""
    name = ".".join(path)
    start = next((n for n, line in enumerate(lines) if _header(line) == name), None)
    if start is None:
        return None
    end = start + 1
    for number in range(start + 1, len(lines)):
        header = _header(lines[number])
        if header is not None and header != name and not header.startswith(f"{name}."):
            break
        if lines[number].strip() and not lines[number].lstrip().startswith("#"):
            end = number + 1  # remarks and blank lines at the end belong to what follows
    if end < len(lines) and not lines[end].strip():
        end += 1
    return start, end


def _header(line: str) -> str | None:
    inside = line.strip()
    if not inside.startswith("[") or "]" not in inside:
        return None
    return inside.lstrip("[").partition("]")[0].replace(" ", "").replace('"', "").replace("'", "")


def _with(tree: dict[str, Any], path: tuple[str, ...], value: dict[str, Any] | None) -> dict[str, Any]:
    """Say what shall be there afterwards; None takes out."""
    name, *rest = path
    inner = tree.get(name, {})
    if not isinstance(inner, dict):
        raise _elsewhere(path)
    if rest:
        value = _with(inner, tuple(rest), value)
    others = {key: each for key, each in tree.items() if key != name}
    return others if value is None else {**others, name: value}


def _pruned(tree: dict[str, Any]) -> dict[str, Any]:
    """Leave out tables with nothing in them: whether one is written down makes no difference."""
    kept = {name: _pruned(each) if isinstance(each, dict) else each for name, each in tree.items()}
    return {name: each for name, each in kept.items() if each != {}}


def _checked(after: str, wanted: dict[str, Any], path: tuple[str, ...]) -> str:
    """Trust no edit of a text that does not read as it should."""
    try:
        found = read(after)
    except BadValue:
        raise _elsewhere(path) from None
    if _pruned(found) != _pruned(wanted):
        raise _elsewhere(path)
    return after


def _elsewhere(path: tuple[str, ...]) -> BadValue:
    return BadValue(f"{'.'.join(path)} is not written there as a table of its own; change it by hand")
