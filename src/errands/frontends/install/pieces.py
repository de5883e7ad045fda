"""Pieces: what is written into the files of a client, and how to write and remove each.

`note` returns what must be remembered to restore the file; it is empty if the piece is already there. `name`
tells the pieces of one file apart, in the memory of what was installed.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from errands.frontends.install import jsonc, toml
from errands.model.errors import BadValue
from errands.model.record import record
from errands.model.text.blake2 import blake2b

Note = dict[str, Any]


class Piece(Protocol):
    """`text` is the content of the file, None if it does not exist."""

    @property
    def name(self) -> str: ...
    def note(self, text: str | None) -> Note: ...
    def put(self, text: str | None) -> str: ...
    def undo(self, text: str, note: Note) -> str | None: ...
    def shown(self) -> str: ...


@record
class Entry:
    """A member of an object in a JSON file; the settings in `kept` stay as the person has them."""

    path: tuple[str, ...]
    value: Any
    kept: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def note(self, text: str | None) -> Note:
        root = jsonc.read(_json(text))
        found = jsonc.find(root, self.path)
        if found is not None and found.value == _merged(self.value, found.value, self.kept):
            return {}
        if found is not None:
            return {**_origin(text), "made": [], "source": _json(text)[found.start : found.end]}
        return {**_origin(text), **_around(_json(text), root, self.path[:-1])}

    def put(self, text: str | None) -> str:
        found = jsonc.find(jsonc.read(_json(text)), self.path)
        value = self.value if found is None else _merged(self.value, found.value, self.kept)
        if text is not None and found is not None and found.value == value:
            return text
        return jsonc.put(_json(text), self.path, value)

    def undo(self, text: str, note: Note) -> str | None:
        found = jsonc.find(jsonc.read(_json(text)), self.path)
        if found is None:
            return text
        if "source" in note:
            return text[: found.start] + str(note["source"]) + text[found.end :]
        if "before" in note:
            return jsonc.put(text, self.path, note["before"])
        return _swept(jsonc.remove(text, self.path), self.path[:-1], note)

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

    @property
    def name(self) -> str:
        return f"{'.'.join(self.path)}: {self.mark}"

    def note(self, text: str | None) -> Note:
        root = jsonc.read(_json(text))
        if self._ours(root):
            return {}
        return {**_origin(text), **_around(_json(text), root, self.path)}

    def put(self, text: str | None) -> str:
        after = _json(text)
        ours = self._ours(jsonc.read(after))
        if text is not None and ours == [self.value]:
            return text
        for each in ours:
            after = jsonc.take(after, self.path, each)
        return jsonc.add(after, self.path, self.value)

    def undo(self, text: str, note: Note) -> str | None:
        for each in self._ours(jsonc.read(_json(text))):
            text = jsonc.take(text, self.path, each)
        return _swept(text, self.path, note)

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
class Rule:
    """A text in an array of a JSON file, if it is `wanted`; None leaves the file as it is.

    Only one that was added here is removed again: the person may have written the same.
    """

    path: tuple[str, ...]
    value: str
    wanted: bool | None

    @property
    def name(self) -> str:
        return self._item.name

    @property
    def _item(self) -> Item:
        return Item(path=self.path, value=self.value, mark=json.dumps(self.value))

    def note(self, text: str | None) -> Note:
        return self._item.note(text) if self.wanted else {}

    def put(self, text: str | None) -> str:
        if self.wanted is False:
            return self._item.undo(_json(text), {"made": []}) or ""
        return self._item.put(text) if self.wanted else _json(text)

    def undo(self, text: str, note: Note) -> str | None:
        return self._item.undo(text, note) if "made" in note else text

    def shown(self) -> str:
        return self._item.shown()


@record
class Table:
    """A table of a TOML file; the settings in `kept` stay as the person has them."""

    path: tuple[str, ...]
    value: dict[str, Any]
    kept: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def note(self, text: str | None) -> Note:
        found = self._found(text or "")
        if found is not None and found == _merged(self.value, found, self.kept):
            return {}
        is_open = bool(text and text.strip() and not text.endswith("\n"))
        source = {} if found is None else {"source": toml.source(text or "", self.path)}
        return {**_origin(text), **source, **({"open": True} if is_open else {})}

    def put(self, text: str | None) -> str:
        found = self._found(text or "")
        value = self.value if found is None else _merged(self.value, found, self.kept)
        if text is not None and found == value:
            return text
        return toml.put(text or "", self.path, value)

    def undo(self, text: str, note: Note) -> str | None:
        if self._found(text) is None:
            return text
        if "source" in note:
            return toml.restored(text, self.path, note["source"])
        if "before" in note:
            return toml.put(text, self.path, note["before"])
        after = toml.remove(text, self.path)
        if note.get("open") and text.startswith(after):  # nothing was added behind our table
            after = after.removesuffix("\n")
        if after.strip():
            return after
        return None if note.get("new") else note.get("blank", after)

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

    @property
    def name(self) -> str:
        return "file"

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


def _origin(text: str | None) -> Note:
    """Note whether there was a file, and its content if that was only whitespace."""
    return {"new": text is None, **({"blank": text} if text is not None and not text.strip() else {})}


def _merged(value: Any, found: Any, kept: tuple[str, ...]) -> Any:
    """Return a value with those settings of the one in the file that are to be kept."""
    if not isinstance(found, dict):
        return value
    return {**value, **{name: found[name] for name in kept if name in found and name not in value}}


def _around(text: str, root: jsonc.Node, path: tuple[str, ...]) -> Note:
    """Note which objects around an entry have to be created, or how an empty one is written."""
    made = [depth for depth in range(1, len(path) + 1) if jsonc.find(root, path[:depth]) is None]
    holder = jsonc.find(root, path[: made[0] - 1] if made else path)
    is_empty = holder is not None and not holder.members and not holder.items
    return {
        "made": made,
        **({"empty": text[holder.start : holder.end]} if holder is not None and is_empty else {}),
    }


def _swept(text: str, path: tuple[str, ...], note: Note) -> str | None:
    """Remove the empty objects that were created around an entry, and the file if it was created for it."""
    made = note.get("made", ())
    for depth in sorted(made, reverse=True):
        found = jsonc.find(jsonc.read(text), path[:depth])
        if found is not None and not found.value:
            text = jsonc.remove(text, path[:depth])
    holder = jsonc.find(jsonc.read(text), path[: min(made) - 1] if made else path)
    if "empty" in note and holder is not None and not holder.members and not holder.items:
        text = text[: holder.start] + str(note["empty"]) + text[holder.end :]
    if jsonc.read(text).value:
        return text
    return None if note.get("new") else note.get("blank", text)


def _fingerprint(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
