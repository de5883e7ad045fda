"""Runs taken ahead of a slot: how many a host wants, and which it gives back because they waited too long.

One that was given back must not begin here, whatever arrives late about it, so it is remembered.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.engine.engine import Engine
    from errands.engine.fleet.guest import Guest, GuestNotes

AHEAD = 0.1  # seconds: as many runs are taken ahead as ended in this time, and were shorter than it
LATE = 0.3  # seconds that a run taken ahead may wait for a slot
REMEMBERED = 10_000  # runs that were given back


class Ahead:
    def __init__(self, engine: Engine, notes: GuestNotes) -> None:
        self._engine = engine
        self._notes = notes
        self._short: deque[float] = deque()  # when runs ended that were short
        self._given_back: dict[int, int] = {}  # the last attempts that were

    @property
    def wanted(self) -> int:
        """Return how many more runs this host wants than it has slots."""
        since = self._engine.clock.monotonic() - AHEAD
        while self._short and self._short[0] < since:
            self._short.popleft()
        return len(self._short)

    def note_end(self, guest: Guest) -> None:
        if guest.view is not None and (guest.view.latest.elapsed or AHEAD) < AHEAD:
            self._short.append(self._engine.clock.monotonic())

    def is_late(self, guest: Guest) -> bool:
        """Return whether a run that can still be given back has waited too long."""
        may_begin = guest.waits and guest.outcome is None and not guest.is_given_back
        return may_begin and self._engine.clock.monotonic() > guest.since + LATE

    def was_given_back(self, guest: Guest) -> bool:
        return guest.attempt <= self._given_back.get(guest.number, 0)

    def retract_late_ones(self, guests: Iterable[Guest]) -> None:
        """Keep runs from beginning here that have waited too long, so that they can be given back."""
        for guest in filter(self.is_late, guests):
            task_id = guest.task_id or self._engine.id_by_key(guest.key)
            if task_id is not None and not self._engine.retract(task_id):
                continue
            # Before the fleet is told: once it is, nothing that survives a kill may begin it here.
            self._notes.forget(guest.number)
            guest.task_id, guest.is_given_back = "", True
            self._given_back[guest.number] = guest.attempt
            if len(self._given_back) > REMEMBERED:
                del self._given_back[next(iter(self._given_back))]
