"""Marks: up to which message the bot has handed on what people wrote to it, in each channel.

What came after the mark while the bot was away is read from Discord's history when it is back.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta

from discord.utils import time_snowflake

OLDEST = timedelta(days=1)  # an answer to something older would surprise people
_FIRST = "first"  # the mark of channels without one: when the bot first connected


class Marks:
    """The marks of one bot, kept in a file. Discord's ids grow with time, in all channels alike."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._marks: dict[str, int] = {}

    def after(self, place: int) -> int:
        """Return the mark of a channel; messages older than a day are not waited for any more."""
        marks = self._known()
        return max(marks.get(str(place), marks[_FIRST]), time_snowflake(datetime.now(UTC) - OLDEST))

    def note(self, place: int, message: int) -> None:
        """Note that a message was handed on, and so all before it in the same channel."""
        marks = self._known()
        if message > marks.get(str(place), 0):
            marks[str(place)] = message
            self._write()

    def _known(self) -> dict[str, int]:
        if not self._marks:
            try:
                with open(self._path, encoding="utf-8") as file:
                    self._marks = {str(place): int(mark) for place, mark in json.load(file).items()}
            except (OSError, ValueError, AttributeError):
                self._marks = {}  # never connected, or unreadable: nothing was missed, as far as we know
        if _FIRST not in self._marks:
            self._marks[_FIRST] = time_snowflake(datetime.now(UTC))
            self._write()
        return self._marks

    def _write(self) -> None:
        draft = f"{self._path}.new"
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(self._marks, file)
        os.replace(draft, self._path)
