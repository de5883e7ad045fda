"""Marks: the last notice that each of the latest chats has shown, a line for each in one small file."""

from __future__ import annotations

import os
from contextlib import suppress

MOST = 100  # chats; whoever comes back to an older one is shown again what its agent was not told


class ReadMarkers:
    """A mark that is lost, or that two chats write at once, costs a message that is shown twice."""

    def __init__(self, path: str) -> None:
        self._path = path

    def of(self, name: str) -> int:
        return self._read().get(name, 0)

    def set(self, name: str, notice: int) -> None:
        marks = self._read()
        marks.pop(name, None)
        latest = [*marks.items(), (name, notice)][-MOST:]
        draft = f"{self._path}.{os.getpid()}"
        with suppress(OSError):
            with open(draft, "w", encoding="utf-8") as file:
                file.writelines(f"{each} {number}\n" for each, number in latest)
            os.replace(draft, self._path)

    def _read(self) -> dict[str, int]:
        try:
            with open(self._path, encoding="utf-8", errors="replace") as file:
                lines = [line.split() for line in file]
        except OSError:
            return {}
        return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}
