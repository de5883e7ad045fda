"""The contract of a source. Subclass it, say what to watch and how to make something happen there.

The source is real, and so is the ground it stands on: an engine with a store, and a task that waits.
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import Observation, Source, SourceEvent

WITHIN = 20.0  # seconds after which a fact is not going to come true any more
SOON = 5.0  # seconds within which a source is closed


class Looking:
    """A source that is open, and all it has told; a look is written down before the next is asked for."""

    def __init__(self, source: Source, task: asyncio.Task[None], changed: asyncio.Event) -> None:
        self.source = source
        self.looks: list[Observation] = []
        self._task = task
        self._changed = changed

    @property
    def events(self) -> list[SourceEvent]:
        return [each for look in self.looks for each in look.events]

    @property
    def baseline(self) -> str:
        return self.looks[-1].baseline

    async def looked(self, count: int = 1) -> None:
        await self._until(lambda: len(self.looks) >= count)

    async def heard(self, count: int) -> list[SourceEvent]:
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
    """`factory` names the class; one that cannot `remember` misses what happens while nobody looks."""

    factory: str
    remembers = True

    @abstractmethod
    def draft(self, folder: Path) -> Draft:
        """Make the draft of a task that waits for something of this source."""

    @abstractmethod
    def happen(self, folder: Path, engine: Engine) -> Any:
        """Make something happen, another thing each time; it may be a coroutine."""

    def config(self, folder: Path) -> Config:
        return Config()

    def tuned(self, source: Any) -> Any:
        """Have a source that looks now and then look more often than anybody may ask for."""
        return source

    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[Engine]:
        # The path of a socket has to be short.
        with tempfile.TemporaryDirectory(prefix="errands-") as home:
            engine = open_engine(Home(path=home), self.config(tmp_path), consent="yes")
            yield engine
            engine.close()

    @asynccontextmanager
    async def looking(
        self, engine: Engine, folder: Path, baseline: str | None = None
    ) -> AsyncIterator[Looking]:
        task_id = engine.submit(self.draft(folder)).id if baseline is None else _latest(engine)
        task = engine.store.task(task_id)
        context = WatchContext(engine, task, watching_since(engine, task))
        module, _, name = self.factory.partition(":")
        source: Source = self.tuned(getattr(importlib.import_module(module), name)(watched(task), context))
        await source.open(baseline)
        changed = asyncio.Event()

        async def pump() -> None:
            async for look in source.observe():
                looking.looks.append(look)
                changed.set()

        running = asyncio.ensure_future(pump())
        looking = Looking(source, running, changed)
        try:
            yield looking
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            async with asyncio.timeout(SOON):
                await source.close()

    async def test_the_first_look_tells_nothing_of_what_was_there(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        async with self.looking(engine, tmp_path) as looking:
            await looking.looked()

            assert looking.events == []

    async def test_what_happens_is_told_once_and_in_order(self, engine: Engine, tmp_path: Path) -> None:
        async with self.looking(engine, tmp_path) as looking:
            await looking.looked()
            await self._happen(tmp_path, engine)
            await looking.heard(1)
            await self._happen(tmp_path, engine)
            first, second = await looking.heard(2)

            assert (first.text, first.facts) != (second.text, second.facts)

    async def test_what_is_told_is_plain(self, engine: Engine, tmp_path: Path) -> None:
        async with self.looking(engine, tmp_path) as looking:
            await looking.looked()
            await self._happen(tmp_path, engine)
            (told,) = await looking.heard(1)

            assert told.text.isprintable()
            assert json.loads(json.dumps(dict(told.facts))) == dict(told.facts)

    async def test_what_was_told_is_not_told_again_by_the_next(self, engine: Engine, tmp_path: Path) -> None:
        async with self.looking(engine, tmp_path) as looking:
            await looking.looked()
            await self._happen(tmp_path, engine)
            (before,) = await looking.heard(1)
        async with self.looking(engine, tmp_path, looking.baseline) as again:
            await again.looked()
            await self._happen(tmp_path, engine)
            (after,) = await again.heard(1)

            assert (after.text, after.facts) != (before.text, before.facts)

    async def test_what_happens_while_nobody_looks_is_found_by_the_next(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        async with self.looking(engine, tmp_path) as looking:
            await looking.looked()
        if self.remembers:
            await self._happen(tmp_path, engine)
        async with self.looking(engine, tmp_path, looking.baseline) as again:
            if not self.remembers:
                await again.looked()
                await self._happen(tmp_path, engine)

            assert len(await again.heard(1)) == 1

    async def test_closing_twice_does_no_harm(self, engine: Engine, tmp_path: Path) -> None:
        async with self.looking(engine, tmp_path) as looking:
            await looking.looked()
        async with asyncio.timeout(SOON):
            await looking.source.close()

    async def _happen(self, folder: Path, engine: Engine) -> None:
        found = self.happen(folder, engine)
        if asyncio.iscoroutine(found):
            await found


def _latest(engine: Engine) -> str:
    """Name the task that was watched before; others are newer and wait for nothing."""
    return engine.store.watches()[0].task_id
