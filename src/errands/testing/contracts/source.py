"""The contract of a source. Subclass it, and say what to watch and how to make something happen there.

The source is real, and so is its context: an engine with a store, and a task that waits.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from errands.bootstrap import open_engine
from errands.config import Config
from errands.engine.engine import Engine
from errands.engine.triggers.source_context import WatchContext, watched, watching_since
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.runners.watched_command import run_watched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import Observation, Source, SourceEvent

WITHIN = 60.0  # seconds to wait for a fact
SOON = 30.0  # seconds within which a source is closed


class Observing:
    """An open source and its observations; each is recorded before the next is requested."""

    def __init__(self, source: Source, task: asyncio.Task[None], changed: asyncio.Event) -> None:
        self.source = source
        self.observations: list[Observation] = []
        self._task = task
        self._changed = changed

    @property
    def events(self) -> list[SourceEvent]:
        return [each for each_observation in self.observations for each in each_observation.events]

    @property
    def baseline(self) -> str:
        return self.observations[-1].baseline

    async def observed(self, count: int = 1) -> None:
        await self._until(lambda: len(self.observations) >= count)

    async def found(self, count: int) -> list[SourceEvent]:
        await self._until(lambda: len(self.events) >= count)
        return self.events

    async def _until(self, fact: Any) -> None:
        async with asyncio.timeout(WITHIN):
            while not fact():
                if self._task.done():
                    self._task.result()
                self._changed.clear()
                waiting = asyncio.ensure_future(self._changed.wait())
                await asyncio.wait({waiting, self._task}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()


class SourceContract(ABC):
    """`factory` names the class; one that does not `remember` misses events while it is closed."""

    factory: str
    remembers = True

    @abstractmethod
    def draft(self, folder: Path) -> Draft:
        """Return the draft of a task that waits for this source."""

    @abstractmethod
    def happen(self, folder: Path, engine: Engine) -> Any:
        """Make something happen, something else each time; it may be a coroutine."""

    def config(self, folder: Path) -> Config:
        return Config()

    def tuned(self, source: Any) -> Any:
        """Make a source that polls poll more often than the options allow."""
        return source

    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[Engine]:
        # The path of a socket has to be short.
        with tempfile.TemporaryDirectory(prefix="errands-") as home:
            engine = open_engine(Home(path=home), self.config(tmp_path), consent="yes")
            yield engine
            engine.close()

    @asynccontextmanager
    async def observing(
        self, engine: Engine, folder: Path, baseline: str | None = None
    ) -> AsyncIterator[Observing]:
        task_id = engine.submit(self.draft(folder)).id if baseline is None else _latest(engine)
        task = engine.store.task(task_id)
        context = WatchContext(engine, task, watching_since(engine, task), run_watched)
        module, _, name = self.factory.partition(":")
        source: Source = self.tuned(getattr(importlib.import_module(module), name)(watched(task), context))
        await source.open(baseline)
        changed = asyncio.Event()

        async def pump() -> None:
            async for observation in source.observe():
                observing.observations.append(observation)
                changed.set()

        running = asyncio.ensure_future(pump())
        observing = Observing(source, running, changed)
        try:
            yield observing
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            async with asyncio.timeout(SOON):
                await source.close()

    async def test_the_first_observation_has_no_events_of_the_past(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        async with self.observing(engine, tmp_path) as observing:
            await observing.observed()

            assert observing.events == []

    async def test_events_are_reported_once_and_in_order(self, engine: Engine, tmp_path: Path) -> None:
        async with self.observing(engine, tmp_path) as observing:
            await observing.observed()
            await self._happen(tmp_path, engine)
            await observing.found(1)
            await self._happen(tmp_path, engine)
            first, second = await observing.found(2)

            assert (first.text, first.facts) != (second.text, second.facts)

    async def test_an_event_is_plain_data(self, engine: Engine, tmp_path: Path) -> None:
        async with self.observing(engine, tmp_path) as observing:
            await observing.observed()
            await self._happen(tmp_path, engine)
            (event,) = await observing.found(1)

            assert event.text.isprintable()
            assert json.loads(json.dumps(dict(event.facts))) == dict(event.facts)

    async def test_a_reopened_source_does_not_repeat_events(self, engine: Engine, tmp_path: Path) -> None:
        async with self.observing(engine, tmp_path) as observing:
            await observing.observed()
            await self._happen(tmp_path, engine)
            (before,) = await observing.found(1)
        async with self.observing(engine, tmp_path, observing.baseline) as again:
            await again.observed()
            await self._happen(tmp_path, engine)
            (after,) = await again.found(1)

            assert (after.text, after.facts) != (before.text, before.facts)

    async def test_events_while_it_was_closed_are_found_after_reopening(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        async with self.observing(engine, tmp_path) as observing:
            await observing.observed()
        if self.remembers:
            await self._happen(tmp_path, engine)
        async with self.observing(engine, tmp_path, observing.baseline) as again:
            if not self.remembers:
                await again.observed()
                await self._happen(tmp_path, engine)

            assert len(await again.found(1)) == 1

    async def test_closing_twice_does_no_harm(self, engine: Engine, tmp_path: Path) -> None:
        async with self.observing(engine, tmp_path) as observing:
            await observing.observed()
        async with asyncio.timeout(SOON):
            await observing.source.close()

    async def _happen(self, folder: Path, engine: Engine) -> None:
        found = self.happen(folder, engine)
        if asyncio.iscoroutine(found):
            await found


def _latest(engine: Engine) -> str:
    """Return the task that was watched before; newer ones wait for nothing."""
    return engine.store.watches()[0].task_id
