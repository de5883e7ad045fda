"""JSON with comments, edited as text: everything else stays as it was, to the byte.

A document is parsed into nodes that know their position; an edit replaces a few characters of the text.
"""

from __future__ import annotations

import json
import re
from typing import Any

from errands.model.errors import BadValue
from errands.model.record import record

INDENT = "  "
_REMARK = re.compile(r"[ \t]*(//[^\n]*|/\*[^\n]*?\*/[ \t]*(?=\n))")


@record
class Node:
    """A value and its position, with the members of an object or the items of an array."""

    value: Any
    start: int
    end: int
    members: tuple[Member, ...] = ()
    items: tuple[Node, ...] = ()


@record
class Member:
    name: str
    start: int
    node: Node


class Malformed(BadValue):
    """A text that is not JSON, not even with comments."""


def read(text: str) -> Node:
    """Parse a document; comments and trailing commas are allowed."""
    reader = _Reader(text)
    node = reader.value(reader.skip(0), 0)
    rest = reader.skip(node.end)
    if rest < len(text):
        raise reader.wrong(rest, "there is text after the end")
    return node


def find(node: Node, path: tuple[str, ...]) -> Node | None:
    for name in path:
        # Of two members with one name, JSON readers use the last.
        named = [each.node for each in node.members if each.name == name]
        if not named:
            return None
        node = named[-1]
    return node


def put(text: str, path: tuple[str, ...], value: Any) -> str:
    """Set a member of an object; missing objects around it are created."""
    root = read(text)
    for depth in range(len(path)):
        holder = find(root, path[:depth])
        assert holder is not None
        if not isinstance(holder.value, dict):
            raise BadValue(f"{'.'.join(path[:depth]) or 'the document'} is not an object")
        if find(holder, path[depth : depth + 1]) is None:
            for name in reversed(path[depth + 1 :]):
                value = {name: value}
            last = [(each.start, each.node.end) for each in holder.members[-1:]]
            return _inserted(text, holder, last, value, path[depth])
    found = find(root, path)
    assert found is not None
    return text[: found.start] + _written(text, value, _margin(text, found.start)) + text[found.end :]


def add(text: str, path: tuple[str, ...], item: Any) -> str:
    """Append an item to an array, which is created if it is missing."""
    holder = find(read(text), path)
    if holder is None:
        return put(text, path, [item])
    if not isinstance(holder.value, list):
        raise BadValue(f"{'.'.join(path)} is not an array")
    return _inserted(text, holder, [(each.start, each.end) for each in holder.items[-1:]], item)


def remove(text: str, path: tuple[str, ...]) -> str:
    """Remove a member from its object."""
    holder = find(read(text), path[:-1])
    assert holder is not None
    place = max(n for n, each in enumerate(holder.members) if each.name == path[-1])
    return _removed(text, holder, [(each.start, each.node.end) for each in holder.members], place)


def take(text: str, path: tuple[str, ...], item: Any) -> str:
    """Remove an item from an array."""
    holder = find(read(text), path)
    assert holder is not None
    place = next(n for n, each in enumerate(holder.items) if each.value == item)
    return _removed(text, holder, [(each.start, each.end) for each in holder.items], place)


def _written(text: str, value: Any, margin: str) -> str:
    """Return a value as JSON, indented like the rest of the text."""
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"\n{margin}")


def _unit(text: str) -> str:
    """Return the indentation of a text: the margin of its first indented member."""
    for line in text.splitlines():
        margin = line[: len(line) - len(line.lstrip())]
        if margin and line.strip()[:1] == '"':
            return margin
    return INDENT


def _margin(text: str, place: int) -> str:
    """Return the margin of the line at a position."""
    line = text[:place].rpartition("\n")[2]
    return line[: len(line) - len(line.lstrip())]


def _inserted(
    text: str, holder: Node, last: list[tuple[int, int]], value: Any, name: str | None = None
) -> str:
    """Insert a value after the last one of an object or an array."""
    label = "" if name is None else f"{json.dumps(name)}: "
    outer = _margin(text, holder.start)
    if not last:
        inner = outer + _unit(text)
        written = f"\n{inner}{label}{_written(text, value, inner)}\n{outer}"
        inside = text[holder.start + 1 : holder.end - 1].rstrip()  # a comment, if anything
        return text[: holder.start + 1] + inside + written + text[holder.end - 1 :]
    ((start, end),) = last
    is_broken = "\n" in text[holder.start : start]
    inner = _margin(text, start)
    written = (f"\n{inner}" if is_broken else " ") + label + _written(text, value, inner)
    comma = _Reader(text).comma(end)
    place = end if comma is None else comma + 1
    remark = _REMARK.match(text, place) if is_broken else None
    behind = place if remark is None else remark.end()  # a comment stays with the value before it
    if comma is None:
        return text[:end] + "," + text[end:behind] + written + text[behind:]
    # Keep the style with a trailing comma.
    return text[:behind] + written + "," + text[behind:]


def _removed(text: str, holder: Node, places: list[tuple[int, int]], place: int) -> str:
    """Remove a value with a comma and the blanks before it; comments stay, and comment out nothing else."""
    start, end = places[place]
    reader = _Reader(text)
    after = reader.comma(end)
    tail = text[end:] if after is None else text[end:after] + text[after + 1 :]
    before = holder.start if place == 0 else reader.comma(places[place - 1][1])
    assert before is not None
    head, gap = text[: before + 1], text[before + 1 : start]
    if place == 0 and len(places) > 1:
        return head + gap + tail.lstrip()
    if place and after is None:
        head = text[:before]
    gap = gap.rstrip()
    if len(places) == 1 and not gap:
        tail = tail.lstrip()
    if "//" in gap.rpartition("\n")[2] and not tail.lstrip(" \t\r").startswith("\n"):
        tail = "\n" + tail
    return head + gap + tail


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = json.JSONDecoder(strict=False)

    def wrong(self, place: int, why: str) -> Malformed:
        line = self._text.count("\n", 0, place) + 1
        return Malformed(f"line {line}: {why}")

    def skip(self, place: int) -> int:
        """Return the position after blanks and comments."""
        text = self._text
        while place < len(text):
            if text[place] in " \t\r\n\ufeff":
                place += 1
            elif text.startswith("//", place):
                end = text.find("\n", place)
                place = len(text) if end < 0 else end
            elif text.startswith("/*", place):
                end = text.find("*/", place + 2)
                if end < 0:
                    raise self.wrong(place, "a comment has no end")
                place = end + 2
            else:
                break
        return place

    def comma(self, place: int) -> int | None:
        """Return the position of the comma after a value."""
        place = self.skip(place)
        return place if self._text.startswith(",", place) else None

    def value(self, start: int, depth: int) -> Node:
        if depth > 200:
            raise self.wrong(start, "it is nested too deeply")
        first = self._text[start : start + 1]
        if first == "{":
            return self._object(start, depth)
        if first == "[":
            return self._array(start, depth)
        try:
            value, end = self._decoder.raw_decode(self._text, start)
        except ValueError:
            raise self.wrong(start, "a value is missing or not understood") from None
        return Node(value=value, start=start, end=end)

    def _object(self, start: int, depth: int) -> Node:
        members: list[Member] = []
        place = self.skip(start + 1)
        while not self._text.startswith("}", place):
            name = self.value(place, depth) if self._text.startswith('"', place) else None
            if name is None:
                raise self.wrong(place, "a name in quotes or } is missing")
            colon = self.skip(name.end)
            if not self._text.startswith(":", colon):
                raise self.wrong(colon, "a colon is missing")
            node = self.value(self.skip(colon + 1), depth + 1)
            members.append(Member(name=str(name.value), start=place, node=node))
            place = self._next(node.end, "}")
        value = {each.name: each.node.value for each in members}
        return Node(value=value, start=start, end=place + 1, members=tuple(members))

    def _array(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        place = self.skip(start + 1)
        while not self._text.startswith("]", place):
            items.append(self.value(place, depth + 1))
            place = self._next(items[-1].end, "]")
        return Node(value=[each.value for each in items], start=start, end=place + 1, items=tuple(items))

    def _next(self, place: int, closing: str) -> int:
        """Return the position after the comma that follows a value, or of the closing bracket."""
        place = self.skip(place)
        if self._text.startswith(",", place):
            return self.skip(place + 1)
        if not self._text.startswith(closing, place):
            raise self.wrong(place, f"a comma or {closing} is missing")
        return place
