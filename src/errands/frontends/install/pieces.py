"""Pieces: what is written into the files of a client, and how to write and remove each.

`note` returns what must be remembered to restore the file; it is empty if the piece is already there.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, Protocol

from errands.frontends.install import jsonc, toml
from errands.model.errors import BadValue
from errands.model.record import record

Note = dict[str, Any]


class Piece(Protocol):
    """`text` is the content of the file, None if it does not exist."""

    def note(self, text: str | None) -> Note: ...
    def put(self, text: str | None) -> str: ...
    def undo(self, text: str, note: Note) -> str | None: ...
    def shown(self) -> str: ...


@record
class Entry:
    """A member of an object in a JSON file."""

    path: tuple[str, ...]
    value: Any

    def note(self, text: str | None) -> Note:
        root = jsonc.read(_json(text))
        found = jsonc.find(root, self.path)
        if found is not None and found.value == self.value:
            return {}
        made = [depth for depth in range(1, len(self.path)) if jsonc.find(root, self.path[:depth]) is None]
        return {"new": text is None, "made": made, **({} if found is None else {"before": found.value})}

    def put(self, text: str | None) -> str:
        found = jsonc.find(jsonc.read(_json(text)), self.path)
        if text is not None and found is not None and found.value == self.value:
            return text
        return jsonc.put(_json(text), self.path, self.value)

    def undo(self, text: str, note: Note) -> str | None:
        if jsonc.find(jsonc.read(text), self.path) is None:
            return text
        if "before" in note:
            return jsonc.put(text, self.path, note["before"])
        return _swept(jsonc.remove(text, self.path), self.path, note)

    def shown(self) -> str:
        value: Any = self.value
        for name in reversed(self.path):
            value = {name: value}
        return json.dumps(value, indent=2, ensure_ascii=False)


@record
class Item:
    """An item of an array in a JSON file; ours is the one that contains `mark`."""

    path: tuple[str, ...]
    value: Any
    mark: str

    def note(self, text: str | None) -> Note:
        root = jsonc.read(_json(text))
        if self._ours(root):
            return {}
        made = [
            depth for depth in range(1, len(self.path) + 1) if jsonc.find(root, self.path[:depth]) is None
        ]
        return {"new": text is None, "made": made}

    def put(self, text: str | None) -> str:
        after = _json(text)
        ours = self._ours(jsonc.read(after))
        if text is not None and ours == [self.value]:
            return text
        for each in ours:
            after = jsonc.take(after, self.path, each)
        return jsonc.add(after, self.path, self.value)

    def undo(self, text: str, note: Note) -> str | None:
        for each in self._ours(jsonc.read(text)):
            text = jsonc.take(text, self.path, each)
        return _swept(text, (*self.path, ""), note)

    def shown(self) -> str:
        return Entry(path=self.path, value=[self.value]).shown()

    def _ours(self, root: jsonc.Node) -> list[Any]:
        holder = jsonc.find(root, self.path)
        items = holder.items if holder is not None else ()
        ours = [each.value for each in items if self.mark in json.dumps(each.value)]
        for each in ours:
            hooks = each.get("hooks") if isinstance(each, dict) else None
            if isinstance(hooks, list) and len(hooks) > 1:
                # The item is removed as a whole, and the other hook is not ours.
                where = ".".join(self.path)
                raise BadValue(f"{where} has another hook in the same entry as ours; separate them first")
        return ours


@record
class Table:
    """A table of a TOML file."""

    path: tuple[str, ...]
    value: dict[str, Any]

    def note(self, text: str | None) -> Note:
        found = self._found(text or "")
        if found == self.value:
            return {}
        return {"new": text is None, **({} if found is None else {"before": found})}

    def put(self, text: str | None) -> str:
        if text is not None and self._found(text) == self.value:
            return text
        return toml.put(text or "", self.path, self.value)

    def undo(self, text: str, note: Note) -> str | None:
        if self._found(text) is None:
            return text
        if "before" in note:
            return toml.put(text, self.path, note["before"])
        after = toml.remove(text, self.path)
        return None if note.get("new") and not after.strip() else after

    def shown(self) -> str:
        return toml.written(self.path, self.value).rstrip()

    def _found(self, text: str) -> Any:
        tree: Any = toml.read(text)
        for name in self.path:
            tree = tree.get(name) if isinstance(tree, dict) else None
        return tree


@record
class Whole:
    """A file of our own; one that was edited since is left alone."""

    text: str

    def note(self, text: str | None) -> Note:
        known = {} if text is None or text == self.text else {"before": text}
        return {"print": _fingerprint(self.text), **known} if text != self.text else {}

    def put(self, text: str | None) -> str:
        return self.text

    def undo(self, text: str, note: Note) -> str | None:
        if text != self.text and _fingerprint(text) != note.get("print"):
            return text
        before: str | None = note.get("before")
        return before

    def shown(self) -> str:
        return self.text.rstrip()


def _json(text: str | None) -> str:
    """Treat an empty file as an empty object."""
    return text if text is not None and text.strip() else "{}\n"


def _swept(text: str, path: tuple[str, ...], note: Note) -> str | None:
    """Remove the empty objects that were created around an entry, and the file if it was created for it."""
    for depth in sorted(note.get("made", ()), reverse=True):
        found = jsonc.find(jsonc.read(text), path[:depth])
        if found is not None and not found.value:
            text = jsonc.remove(text, path[:depth])
    return None if note.get("new") and not jsonc.read(text).value else text


def _fingerprint(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
