"""The ledger: calls that became tasks of the protocol, each a file in the home, so that they outlive us.

What they launched is in the store as everything is; a file only says which call it was, and what it replied.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

from errands.frontends.mcp.call import Call, as_plain, from_plain, is_call_id

KEPT = 7 * 24 * 3600  # seconds
LARGEST = 8 * 1024 * 1024  # bytes of a file that we would read


class CallStore:
    def __init__(self, directory: Callable[[], str]) -> None:
        self._directory = directory
        self._is_swept = False

    def keep(self, call: Call) -> None:
        """Write a call down, whole or not at all."""
        directory = self._directory()
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self._sweep(directory)
        path = os.path.join(directory, call.id)
        handle = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(as_plain(call), file, default=str)
        os.replace(f"{path}.new", path)

    def find(self, call_id: str) -> Call | None:
        """Read a call; what cannot be one, or cannot be understood, is none."""
        if not is_call_id(call_id):
            return None
        try:
            with open(os.path.join(self._directory(), call_id), encoding="utf-8") as file:
                return from_plain(json.loads(file.read(LARGEST)))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _sweep(self, directory: str) -> None:
        """Remove what was kept long enough, once in the life of a server."""
        if self._is_swept:
            return
        self._is_swept = True
        for entry in os.scandir(directory):
            if not is_call_id(entry.name.removesuffix(".new")):
                continue
            try:
                if entry.stat().st_mtime < time.time() - KEPT:
                    os.unlink(entry.path)
            except OSError:
                pass  # another server was faster; whatever stays is in nobody's way
