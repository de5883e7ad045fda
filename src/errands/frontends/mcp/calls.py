"""Calls: those in flight here, and those kept for whoever asks later, here or in another process."""

from __future__ import annotations

import logging
import os

from errands.frontends.mcp.call import Call, may_see
from errands.frontends.mcp.call_store import CallStore
from errands.frontends.mcp.door import Door
from errands.frontends.mcp.idempotent_engine import IdempotentEngine
from errands.model.errors import ErrandsError
from errands.ports.dialect import Caller

_LOG = logging.getLogger("errands.mcp")
MOST = 100  # calls at the same time: whoever has more in flight is not waiting for any of them


class Calls:
    def __init__(self, door: Door) -> None:
        self.door = door
        self._ledger = CallStore(lambda: os.path.join(door.engine.engine.home.path, "mcp", "calls"))
        self._kept: dict[str, Call] = {}
        self._count = 0

    def enter(self) -> None:
        """Let one more call in, or say that there are too many."""
        if self._count + len(self._kept) >= MOST:
            raise ErrandsError(f"{MOST} calls are in flight already; wait for one of them to end")
        self._count += 1

    def leave(self) -> None:
        self._count -= 1

    def begin(self, call: Call) -> None:
        verbs = IdempotentEngine(self.door.engine, call, launched=lambda: self._launched(call))
        call.begin(self.door.dialect, verbs)

    def keep(self, call: Call) -> bool:
        """Write a call down and go on with it, whether its client stays or not; False if that cannot be."""
        if not self._write(call):
            return False
        call.report, call.is_kept = None, True
        call.ended = self._note_end
        self._kept[call.id] = call
        return True

    def find(self, caller: Caller, call_id: str) -> Call | None:
        """Find a call of this caller. One that another process was killed over is carried on with."""
        call = self._kept.get(call_id) or self._ledger.find(call_id)
        if call is None or not may_see(call, caller):
            return None
        if not call.is_over and call.id not in self._kept:
            self._again(call)
        return call

    def note_answers(self, call: Call, *, is_last: bool) -> None:
        """Write down what was answered; with the last answer, a call that waited for it goes on."""
        if call.is_over and is_last:
            self._again(call)
        else:
            self._write(call)

    def cancel(self, call: Call) -> None:
        """End a call and what it launched; what it only waited for goes on."""
        if call.launched:
            self.door.cancel(call.caller, call.launched)
        call.ended = self._note_end
        call.cancel()

    def close(self) -> None:
        for call in self._kept.values():
            call.stop()

    def _again(self, call: Call) -> None:
        """Go on with a kept call where it was left."""
        if self.keep(call):
            self.begin(call)

    def _launched(self, call: Call) -> None:
        if call.is_kept:
            self._write(call)

    def _note_end(self, call: Call) -> None:
        # What cannot be written down is told from memory, for as long as there is any.
        if self._write(call):
            self._kept.pop(call.id, None)

    def _write(self, call: Call) -> bool:
        try:
            self._ledger.keep(call)
        except OSError as error:
            _LOG.error("the call %s cannot be written down: %s", call.id, error)
            return False
        return True
