"""The gate of a shared local model: a person goes first.

A conversation, in the chat or on Discord, closes the gate while it waits for an answer; background runs check
it between two calls and wait. It is a file lock, so it opens by itself when the process dies.
"""

from __future__ import annotations

import fcntl
import os

from errands.config.backends import LOCAL
from errands.ports.home import Home, lock_file

LANE = LOCAL  # the lane of the runs that share the model
LOOK = 0.05  # seconds between two checks of a closed gate


class ModelGate:
    """`with gate:` keeps background runs from the model; several processes may do so at a time."""

    def __init__(self, home: str) -> None:
        self._path = Home(path=home).gate
        self._files: list[int] = []

    def __enter__(self) -> ModelGate:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(file, fcntl.LOCK_SH)
        self._files.append(file)
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._files.pop())

    def is_closed(self) -> bool:
        """Return whether a conversation with a person uses the model."""
        file = lock_file(self._path)
        if file is None:
            return True
        os.close(file)
        return False
