"""A plan: which files an installation changes, how, and what must be remembered to undo it.

Everything is read and checked before anything is written, and a file is replaced in one step.
"""

from __future__ import annotations

import difflib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from errands.frontends.install.pieces import Note, Piece
from errands.model.errors import BadValue, ErrandsError
from errands.model.record import record


@record
class Target:
    """A file and what belongs in it."""

    path: str
    pieces: tuple[Piece, ...]

    def alone(self) -> str:
        """Return the file as it would be with nothing else in it."""
        text: str | None = None
        for piece in self.pieces:
            text = piece.put(text)
        return text or ""


@record
class Change:
    """A file before and after (None: no file), and the notes of its pieces."""

    path: str
    before: str | None
    after: str | None
    notes: tuple[Note, ...] = ()

    @property
    def is_needed(self) -> bool:
        return self.before != self.after

    def diff(self) -> list[str]:
        """Return the change as a unified diff."""
        old, new = ((each or "").splitlines() for each in (self.before, self.after))
        place = os.path.realpath(self.path)
        shown = self.path if place == self.path else f"{self.path} -> {place}"
        source = "/dev/null" if self.before is None else shown
        target = "/dev/null" if self.after is None else shown
        return list(difflib.unified_diff(old, new, source, target, lineterm=""))


def check_links(targets: Sequence[Target], project: str) -> None:
    """Refuse to follow links out of a project: its author chose them, and not the person who installs."""
    root = os.path.realpath(project)
    for target in targets:
        place = os.path.realpath(target.path)
        if _is_within(target.path, project) and not _is_within(place, root):
            raise BadValue(
                f"nothing was written: {target.path} is behind a symbolic link and would change {place}, "
                "outside the project; replace the link with a file, or install without --project"
            )


def _is_within(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


def installation(targets: Sequence[Target], memory: Memory) -> list[Change]:
    """Return the changes that put everything in place."""
    changes = []
    for target in targets:
        before = _read(target.path)
        text, notes = _lines(before), []
        for piece, known in zip(target.pieces, memory.notes(target), strict=True):
            try:
                notes.append({**_remembered(piece.note(text), known), "piece": piece.name})
                text = piece.put(text)
            except BadValue as error:
                raise _refused(target.path, error, piece) from None
        if folders := _missing_folders(target.path):
            notes[0]["folders"] = folders
        after = _ended_like(before, text)
        changes.append(Change(path=target.path, before=before, after=after, notes=tuple(notes)))
    return changes


def removal(targets: Sequence[Target], memory: Memory) -> list[Change]:
    """Return the changes that remove everything again."""
    changes = []
    for target in targets:
        before = _read(target.path)
        text = _undone(target, _lines(before), memory.notes(target))
        changes.append(Change(path=target.path, before=before, after=_ended_like(before, text)))
    return changes


def _undone(target: Target, text: str | None, notes: Sequence[Note]) -> str | None:
    for piece, note in reversed(list(zip(target.pieces, notes, strict=True))):
        if text is None:
            break
        try:
            text = piece.undo(text, note)
        except BadValue as error:
            raise _refused(target.path, error, piece) from None
    return text


def _lines(text: str | None) -> str | None:
    """Return a text with plain line ends instead of CR LF, for editing."""
    return text if text is None or not _has_crlf(text) else text.replace("\r\n", "\n")


def _ended_like(before: str | None, text: str | None) -> str | None:
    """Give an edited text its old line ends back."""
    return text if before is None or text is None or not _has_crlf(before) else text.replace("\n", "\r\n")


def _has_crlf(text: str) -> bool:
    return 0 < text.count("\n") == text.count("\r\n")


def carry_out(changes: Sequence[Change]) -> None:
    """Write the files, unless one of them has changed since the plan was made."""
    for change in changes:
        if _read(change.path) != change.before:
            raise ErrandsError(
                f"{change.path} has changed since it was shown, and nothing was written; try again"
            )
    for change in changes:
        if change.after is None:
            os.unlink(os.path.realpath(change.path))
        else:
            _write(change.path, change.after)


def check_rights(changes: Sequence[Change]) -> None:
    """Raise an error if one of the files cannot be written, before any is."""
    denied = [each.path for each in changes if not _can_write(each.path)]
    if denied:
        raise BadValue(f"nothing was written: no permission to write {', '.join(denied)}")


def sweep(folders: Iterable[str]) -> None:
    """Remove those of the folders that are empty."""
    for folder in sorted(folders, key=len, reverse=True):
        try:
            os.rmdir(folder)
        except OSError:
            pass


class Memory:
    """The notes of all installations, in one file."""

    def __init__(self, path: str) -> None:
        self._path = path
        text = _read(path)
        try:
            found = json.loads(text) if text else {}
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise BadValue(f"{path} is damaged; delete it (uninstall then leaves some empty objects behind)")
        self._known: dict[str, list[Note]] = found

    def notes(self, target: Target) -> Sequence[Note]:
        """Return the notes of the pieces of a file."""
        known = {note.pop("piece"): note for note in map(dict, self._known.get(target.path, ()))}
        return [known.get(each.name, {}) for each in target.pieces]

    def keep(self, changes: Sequence[Change]) -> None:
        """Remember the changes."""
        known = {**self._known, **{each.path: list(each.notes) for each in changes}}
        if folders := _missing_folders(self._path):
            known[self._path] = [{"folders": folders}]
        self._save(known)

    def forget(self, changes: Sequence[Change]) -> set[str]:
        """Forget these changes; return the folders that were created for them."""
        gone = {each.path for each in changes}
        if gone.issuperset(self._known.keys() - {self._path}):
            gone.add(self._path)
        notes = [note for path in gone for note in self._known.get(path, ())]
        self._save({path: notes for path, notes in self._known.items() if path not in gone})
        return {folder for note in notes for folder in note.get("folders", ())}

    def _save(self, known: Mapping[str, Any]) -> None:
        if known == self._known:
            return
        if known:
            _write(self._path, json.dumps(known, indent=2) + "\n")
        else:
            os.unlink(self._path)
        self._known = dict(known)


def _remembered(found: Note, known: Note) -> Note:
    """Keep the first note: a second installation finds what the first one made."""
    return {**known, "print": found["print"]} if known and "print" in found else known or found


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise BadValue(f"{path} is not UTF-8 text; nothing was changed") from None


def _write(path: str, text: str) -> None:
    """Replace a file in one step, keeping a symbolic link, the owner and the file mode."""
    place = os.path.realpath(path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=".errands-", dir=os.path.dirname(place))
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mode = _default_mode()
        if os.path.exists(place):
            known, ours = os.stat(place), os.stat(draft)
            mode = known.st_mode & 0o7777
            if (known.st_uid, known.st_gid) != (ours.st_uid, ours.st_gid):
                os.chown(draft, known.st_uid, known.st_gid)
        os.chmod(draft, mode)
        os.replace(draft, place)
    except BaseException:
        os.unlink(draft)
        raise


def _can_write(path: str) -> bool:
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    while folder and not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return os.access(folder, os.W_OK) and (not os.path.exists(path) or os.access(path, os.W_OK))


def _default_mode() -> int:
    """Return the mode of a new file; reading the umask changes it briefly, which is safe in one thread."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _missing_folders(path: str) -> list[str]:
    """Return the folders that have to be created for a file."""
    folders = []
    while (path := os.path.dirname(path)) and not os.path.exists(path):
        folders.append(path)
    return folders


def _refused(path: str, error: BadValue, piece: Piece) -> BadValue:
    return BadValue(
        f"{path} cannot be changed safely, and nothing was written: {error}\n"
        f"Correct it, or put this in by hand:\n{piece.shown()}"
    )
