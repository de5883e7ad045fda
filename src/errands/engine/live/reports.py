"""What views read besides single tasks: long lists in light rows, timelines and slots."""

from __future__ import annotations

import os
from itertools import pairwise

from errands.engine.text_mask import TextMask
from errands.model.errors import BadValue
from errands.model.record import evolve
from errands.model.text.sanitise import line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from errands.engine.core import EngineCore
    from errands.model.schedule.slot_record import Slot, SlotOutcome
    from errands.model.states import RunState
    from errands.ports.store import Query
    from errands.ports.store.reports import Bar, EndedRun, Group, TaskRow

# Bytes of a row's texts: a list of ten thousand tasks is read, and sent to a page, as a whole.
TITLE, SUMMARY, LANE = 64, 40, 32
MOST_STEPS = 2000


class Reports:
    def __init__(self, core: EngineCore) -> None:
        self._core = core

    def rows(self, query: Query) -> list[TaskRow]:
        """List tasks as light rows, newest first; their texts are masked, safe to show, and short."""
        mask = TextMask(self._core, os.environ)
        return [
            evolve(
                row,
                title=_short(mask.text(row.id, row.title), TITLE),
                summary=_short(mask.text(row.id, row.summary), SUMMARY),
                lane=_short(row.lane, LANE),
            )
            for row in self._core.store.rows(query)
        ]

    def count(self, query: Query) -> int:
        return self._core.store.count_tasks(query)

    def timeline(
        self, *, since: datetime, until: datetime, steps: int = 200, group: Group = "lane", tracks: int = 1
    ) -> list[Bar]:
        """Return what ran in a window as bars on `steps` places.

        Overlapping runs of a group are on different tracks while there are any left, and then share a bar.
        """
        if until <= since:
            raise BadValue(f"a timeline must end after it begins, not at {until} after {since}")
        if not 1 <= steps <= MOST_STEPS:
            raise BadValue(f"steps must be between 1 and {MOST_STEPS} (got {steps})")
        return self._core.store.bars(since=since, until=until, steps=steps, group=group, tracks=tracks)

    def ended_runs(self, *, since: datetime, name: str | None = None, limit: int = 1000) -> list[EndedRun]:
        return self._core.store.ended_runs(since=since, name=name, limit=limit)

    def ends_by_day(self, *, since: datetime, name: str | None = None) -> list[tuple[str, RunState, int]]:
        return self._core.store.ends_by_day(since=since, name=name)

    def busiest_names(self, *, since: datetime, limit: int = 50) -> list[tuple[str, int]]:
        return self._core.store.busiest_names(since=since, limit=limit)

    def recent_slots(self, *, limit: int = 20) -> dict[str, list[Slot]]:
        return self._core.store.recent_slots(limit=limit)

    def slot_days(
        self, task_id: str, days: Sequence[datetime]
    ) -> list[list[tuple[SlotOutcome, RunState | None, int]]]:
        """Count the slots of a recurring task between each of these times and the next one, by outcome."""
        store, task_id = self._core.store, self._core.resolve(task_id)
        return [store.slot_outcomes(task_id, since=since, until=until) for since, until in pairwise(days)]


def _short(text: str, most: int) -> str:
    """Return a text on one line that takes at most this many bytes in JSON."""
    whole = line(text)
    if _size(whole[: most + 1]) <= most:
        return whole
    text = whole[:most]
    while text and _size(text + "…") > most:
        text = text[:-1]
    return text + "…"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + text.count('"') + text.count("\\")
