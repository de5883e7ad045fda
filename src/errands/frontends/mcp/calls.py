"""Calls: those in flight, and those stored because their client fetches the result later.

A stored call is a file in the home, so another server process can continue it or return its reply. What it
launched is in the store as usual; the file only says which call it was and what it replied.
"""

from __future__ import annotations

import json
import logging
import os
import time

from errands.frontends.mcp.call import Call, as_plain, from_plain, is_call_id, may_see
from errands.frontends.mcp.call_engine import CallEngine
from errands.frontends.mcp.frontend import Frontend
from errands.model.errors import ErrandsError
from errands.ports.dialect import Caller
from errands.ports.own_file import replace_file

_LOG = logging.getLogger("errands.mcp")
KEPT = 7 * 24 * 3600  # seconds that a stored call is kept
_MAX_CALLS = 100  # at the same time; a client with more in flight waits for none of them
_MAX_FILE = 8 * 1024 * 1024  # bytes read of a stored call


class Calls:
    def __init__(self, frontend: Frontend) -> None:
        self.frontend = frontend
        self._store = CallStore(frontend)
        self._kept: dict[str, Call] = {}
        self._count = 0

    def enter(self) -> None:
        """Count one more call in flight, or refuse it."""
        if self._count + len(self._kept) >= _MAX_CALLS:
            raise ErrandsError(f"{_MAX_CALLS} calls are in flight already; wait for one of them to end")
        self._count += 1

    def leave(self) -> None:
        self._count -= 1

    def begin(self, call: Call) -> None:
        def save() -> None:
            if call.is_kept:
                self._save(call)

        self.frontend.see(call.caller)
        engine = CallEngine(
            self.frontend.engine, call, save=save, agent=self.frontend.own_agent, forker=self.frontend.forker
        )
        call.begin(self.frontend.dialect, engine)

    def keep(self, call: Call) -> bool:
        """Store a call, which then continues without its client; return False if it cannot be stored."""
        if not self._save(call):
            return False
        call.report, call.is_kept = None, True
        call.on_end = self._store_end
        self._kept[call.id] = call
        return True

    def find(self, caller: Caller, call_id: str) -> Call | None:
        """Find a call of this caller; one whose process was killed is continued here."""
        call = self._kept.get(call_id) or self._store.load(call_id)
        if call is None or not may_see(call, caller):
            return None
        if not call.is_over and call.id not in self._kept:
            self._continue(call)
        return call

    def note_answers(self, call: Call, *, is_last: bool) -> None:
        """Store the answers; with the last one, a call that waited for it continues."""
        if call.is_over and is_last:
            self._continue(call)
        else:
            self._save(call)

    def cancel(self, call: Call) -> None:
        """Cancel a call and what it launched, but not what it only waited for."""
        if call.launched:
            self.frontend.cancel(call.caller, call.launched)
        call.on_end = self._store_end
        call.cancel()

    def close(self) -> None:
        for call in self._kept.values():
            call.stop()

    def _continue(self, call: Call) -> None:
        if self.keep(call):
            self.begin(call)

    def _store_end(self, call: Call) -> None:
        # A call that cannot be stored is answered from memory while this process lives.
        if self._save(call):
            self._kept.pop(call.id, None)

    def _save(self, call: Call) -> bool:
        try:
            self._store.save(call)
        except OSError as error:
            _LOG.error("the call %s cannot be stored: %s", call.id, error)
            return False
        return True


class CallStore:
    """A directory with one file per call."""

    def __init__(self, frontend: Frontend) -> None:
        self._frontend = frontend
        self._is_swept = False

    @property
    def _directory(self) -> str:
        return os.path.join(self._frontend.engine.engine.home.mcp, "calls")

    def save(self, call: Call) -> None:
        """Write a call in one step."""
        directory = self._directory
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self._sweep(directory)
        replace_file(os.path.join(directory, call.id), json.dumps(as_plain(call), default=str).encode())

    def load(self, call_id: str) -> Call | None:
        """Read a call; return None for an unknown id and for a file that cannot be read."""
        if not is_call_id(call_id):
            return None
        try:
            with open(os.path.join(self._directory, call_id), encoding="utf-8") as file:
                return from_plain(json.loads(file.read(_MAX_FILE)))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _sweep(self, directory: str) -> None:
        """Remove expired calls, once per server process."""
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
                pass  # another server removed it first; a leftover file does no harm
