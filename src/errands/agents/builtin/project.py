"""The project: the directory of the task, the only place where the agent reads and writes files.

Links and `..` are resolved first, and the result must lie inside. It is then opened without following links,
so that a link created in between cannot lead outside.
"""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch

from errands.model.text.secret_files import is_secret_path

_MOST_READ = 50_000  # characters of one answer
_MOST_ENTRIES = 500
_MOST_FOUND = 100
_LONGEST_LINE = 300
_LARGEST_SEARCHED = 2 << 20
_MOST_BYTES = 16 << 20  # of a file that is read
_SEARCHES = 20_000  # files that one search looks at, at most
_SKIPPED = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"}
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Project:
    """Every method raises `OSError` with a message that a model understands."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    def place(self, path: str) -> str:
        """Resolve a path, which must lie inside."""
        place = os.path.realpath(os.path.join(self.root, path or "."))
        if place != self.root and not place.startswith(self.root.rstrip("/") + "/"):
            raise PermissionError(errno.EPERM, f"{path} is not inside the project, {self.root}")
        return place

    def _is_secret(self, path: str) -> bool:
        """Return whether a path leads to a file that a command would not read without asking."""
        return is_secret_path(os.path.relpath(self.place(path), self.root))

    def read(self, path: str, *, start: int = 1, lines: int = 2000) -> str:
        """Return lines of a text file from `start` on; a last line says what is left out."""
        if self._is_secret(path):
            said = f"{path} may hold secrets; `command` can read it, once a person allows that"
            raise PermissionError(errno.EPERM, said)
        with self._opened(path) as (folder, name):
            text = _text(folder, name)
        found = text.splitlines(keepends=True)
        wanted = "".join(found[max(start, 1) - 1 :][:lines])
        shown = wanted[:_MOST_READ]
        last = max(start, 1) - 1 + len(shown.splitlines())
        if len(shown) < len(wanted) or last < len(found):
            shown += f"\n[lines {max(start, 1)} to {last} of {len(found)}; read on with start={last + 1}]"
        return shown

    def write(self, path: str, content: str) -> str:
        """Replace or create a file as a whole, with the directories above it."""
        body = content.encode("utf-8", "surrogateescape")
        with self._opened(path, make=True) as (folder, name):
            mode = _mode(folder, name)
            draft = f".{secrets.token_hex(8)}.errands"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(draft, flags, 0o666 if mode is None else mode, dir_fd=folder)
            try:
                with open(file, "wb") as stream:
                    stream.write(body)
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(draft, dir_fd=folder)
                raise
        return f"{'made' if mode is None else 'replaced'} {path}, {len(body)} bytes"

    def entries(self, path: str) -> str:
        """List a directory, a line for each entry; directories end in a slash."""
        with self._opened(path, whole=True) as (folder, _name), os.scandir(folder) as found:
            names = sorted(f"{each.name}/" if _kind(each) == "folder" else each.name for each in found)
        more = [f"[and {len(names) - _MOST_ENTRIES} more]"] if len(names) > _MOST_ENTRIES else []
        return "\n".join([*names[:_MOST_ENTRIES], *more]) or "[nothing]"

    async def search(self, text: str, path: str = ".", *, names: str = "*") -> str:
        """Find the lines with a text below a directory, as `file:line: words`; skip files with secrets."""
        found: list[str] = []
        looked = 0
        async for place in self._files(path):
            if not fnmatch(os.path.basename(place), names) or self._is_secret(place):
                continue
            looked += 1
            if looked > _SEARCHES:
                found.append(f"[stopped after {_SEARCHES} files; search in a directory below]")
                break
            found += self._lines(place, text)
            if len(found) > _MOST_FOUND:
                found = [*found[:_MOST_FOUND], "[and more; search for something rarer]"]
                break
        return "\n".join(found) or f"[nothing found in {looked} files]"

    def _lines(self, place: str, text: str) -> list[str]:
        try:
            with self._opened(place) as (folder, name):
                if os.stat(name, dir_fd=folder, follow_symlinks=False).st_size > _LARGEST_SEARCHED:
                    return []
                content = _text(folder, name)
        except OSError:
            return []  # gone, or not readable
        if "\0" in content[:8000] or text not in content:
            return []
        lines = enumerate(content.splitlines(), start=1)
        return [f"{place}:{number}: {line[:_LONGEST_LINE]}" for number, line in lines if text in line]

    async def _files(self, path: str) -> AsyncIterator[str]:
        """Walk over the files below a directory without blocking the loop for long."""
        waiting = [path]
        while waiting:
            at = waiting.pop()
            await asyncio.sleep(0)
            with self._opened(at, whole=True) as (folder, _name), os.scandir(folder) as found:
                entries = sorted((each.name, _kind(each)) for each in found)
            for name, kind in entries:
                if kind == "file":
                    yield os.path.normpath(os.path.join(at, name))
            folders = [name for name, kind in entries if kind == "folder" and name not in _SKIPPED]
            waiting += [os.path.join(at, name) for name in reversed(folders)]

    @contextmanager
    def _opened(self, path: str, *, make: bool = False, whole: bool = False) -> Iterator[tuple[int, str]]:
        """Yield a file's open directory and its name in it; with `whole`, the directory itself."""
        *folders, name = os.path.relpath(self.place(path), self.root).split("/")
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for each in [*folders, name] if whole else folders:
                if make:
                    try:
                        os.mkdir(each, dir_fd=folder)
                    except FileExistsError:
                        pass
                below = os.open(each, _DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = below
            yield folder, name
        finally:
            os.close(folder)


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _text(folder: int, name: str) -> str:
    """Read a regular file; reading anything else might never end."""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, f"{name} is not a file")
        with open(file, "rb", closefd=False) as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    finally:
        os.close(file)


def _mode(folder: int, name: str) -> int | None:
    """Return the permissions of an existing file, None without one; refuse what is not a regular file."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, f"{name} is not a file")
    return stat.S_IMODE(found)
