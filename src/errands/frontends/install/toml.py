"""TOML edited as text: adds or removes one table; everything else stays as it was."""

from __future__ import annotations

import json
from typing import Any

from errands.config import toml
from errands.model.errors import BadValue


def read(text: str) -> dict[str, Any]:
    try:
        return toml.loads(text)
    except ValueError as error:
        raise BadValue(str(error)) from None


def put(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """Replace a table, or add it at the end."""
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
    """Remove a table, with the blank line that was added before it."""
    wanted = _with(read(text), path, None)
    lines, start, end = _table(text, path)
    if end == len(lines) and start and not lines[start - 1].strip():
        start -= 1
    return _checked("".join(lines[:start] + lines[end:]), wanted, path)


def source(text: str, path: tuple[str, ...]) -> str:
    """Return a table as it is written in the text."""
    lines, start, end = _table(text, path)
    return "".join(lines[start:end])


def restored(text: str, path: tuple[str, ...], source: str) -> str:
    """Put a table back as it stood in the text."""
    lines, start, end = _table(text, path)
    return "".join(lines[:start]) + source + "".join(lines[end:])


def written(path: tuple[str, ...], value: dict[str, Any]) -> str:
    """Return a table as TOML; nested tables get headers of their own."""
    plain = {name: each for name, each in value.items() if not isinstance(each, dict)}
    inner = {name: each for name, each in value.items() if isinstance(each, dict)}
    # Strings and lists of strings are written alike in TOML and JSON.
    block = f"[{'.'.join(path)}]\n" + "".join(
        f"{name} = {json.dumps(each)}\n" for name, each in plain.items()
    )
    return block + "".join("\n" + written((*path, name), each) for name, each in inner.items())


def _table(text: str, path: tuple[str, ...]) -> tuple[list[str], int, int]:
    """Return the lines of a text, and the range of those of a table."""
    lines = text.splitlines(keepends=True)
    place = _place(lines, path)
    if place is None:
        raise _not_a_table(path)
    return lines, *place


def _place(lines: list[str], path: tuple[str, ...]) -> tuple[int, int] | None:
    """Return the range of lines of a table and its nested tables."""
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
            end = number + 1  # comments and blank lines at the end belong to what follows
    if end < len(lines) and not lines[end].strip():
        end += 1
    return start, end


def _header(line: str) -> str | None:
    inside = line.strip()
    if not inside.startswith("[") or "]" not in inside:
        return None
    return inside.lstrip("[").partition("]")[0].replace(" ", "").replace('"', "").replace("'", "")


def _with(tree: dict[str, Any], path: tuple[str, ...], value: dict[str, Any] | None) -> dict[str, Any]:
    """Return the tree with a table set, or removed if the value is None."""
    name, *rest = path
    inner = tree.get(name, {})
    if not isinstance(inner, dict):
        raise _not_a_table(path)
    if rest:
        value = _with(inner, tuple(rest), value)
    others = {key: each for key, each in tree.items() if key != name}
    return others if value is None else {**others, name: value}


def _pruned(tree: dict[str, Any]) -> dict[str, Any]:
    """Return the tree without empty tables, which make no difference."""
    kept = {name: _pruned(each) if isinstance(each, dict) else each for name, each in tree.items()}
    return {name: each for name, each in kept.items() if each != {}}


def _checked(after: str, wanted: dict[str, Any], path: tuple[str, ...]) -> str:
    """Return the edited text if it parses to what was wanted; refuse it otherwise."""
    try:
        found = read(after)
    except BadValue:
        raise _not_a_table(path) from None
    if _pruned(found) != _pruned(wanted):
        raise _not_a_table(path)
    return after


def _not_a_table(path: tuple[str, ...]) -> BadValue:
    return BadValue(f"{'.'.join(path)} is not a table of its own in this file; change it by hand")
