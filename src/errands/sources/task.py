"""Tasks as a source: another task, or one of a batch, has ended."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator

from errands.model.schedule.event_trigger import option
from errands.model.trigger import On
from errands.ports.source import Observation, RunEnd, SourceEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import SourceContext

TICK = 30.0  # seconds between observations without a change


class Ended:
    """The baseline has the number of the last ended run of each task."""

    def __init__(self, trigger: On, context: SourceContext) -> None:
        self._context = context
        self._task = None if trigger.subject == "*" else trigger.subject
        self._batch = trigger.options.get("batch")
        self._states = option(trigger, "state").split(",")
        self._seen: dict[str, int] = {}

    async def open(self, baseline: str | None) -> None:
        self._seen = {} if baseline is None else json.loads(baseline)

    async def observe(self) -> AsyncIterator[Observation]:
        observed = -TICK
        while True:
            ends = self._context.ended_runs(task=self._task, batch=self._batch, after=self._seen)
            for each in ends:
                self._seen[each.task_id] = max(each.run, self._seen.get(each.task_id, 0))
            events = tuple(_event(each) for each in ends if each.state in self._states)
            # The store changes all the time; an empty observation is worth storing only now and then.
            if ends or time.monotonic() - observed >= TICK:
                observed = time.monotonic()
                yield Observation(baseline=json.dumps(self._seen, sort_keys=True), events=events)
            await self._context.wait(TICK)

    async def close(self) -> None: ...


def _event(end: RunEnd) -> SourceEvent:
    return SourceEvent(
        text=f"{end.task_id} {end.state}",
        facts=end.facts,
        key=f"{end.task_id}.{end.run}",
        chain=end.chain,
    )
