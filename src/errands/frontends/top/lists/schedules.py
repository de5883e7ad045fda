"""The recurring tasks, with what became of their latest slots."""

from __future__ import annotations

from datetime import UTC, datetime

from errands.engine.engine import Engine
from errands.frontends.top.line_view import Line
from errands.frontends.top.lists.rows import Entry
from errands.frontends.top.words import FATES
from errands.model.schedule.slot_record import Slot
from errands.model.states import STANDING
from errands.ports.store import Query
from errands.text import Look

_STREAK = 20  # slots shown for each schedule


class ScheduleList:
    def __init__(self, engine: Engine, look: Look) -> None:
        self._engine = engine
        self._look = look
        self._slots: dict[str, list[Slot]] = {}

    def entries(self) -> list[Entry]:
        self._slots = self._engine.reports.recent_slots(limit=_STREAK)
        views = self._engine.list(Query(states=STANDING))
        far = datetime.max.replace(tzinfo=UTC)
        views.sort(key=lambda view: (view.standing and view.standing.next_at) or far)
        nothing: Line = [
            ("No recurring tasks. Start one in a shell: errands run --every 1h 'make test'", "dim")
        ]
        return [view.id for view in views] or [nothing]

    def streak(self, task_id: str) -> Line:
        """Draw what became of the latest slots, the newest at the right."""
        line: Line = []
        for slot in reversed(self._slots.get(task_id, ())):
            fancy, plain, colour = FATES[slot.outcome]
            line.append((self._look.sign(fancy, plain), colour))
        return line
