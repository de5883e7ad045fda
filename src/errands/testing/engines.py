"""An engine for tests: embedded in the test, with its own home, leaving nothing behind.

A program that leaves live tasks or undelivered notices behind starts the daemon. Here live tasks are
cancelled first, and no daemon starts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from errands.api import connect
from errands.engine.async_engine import AsyncEngine
from errands.model.options.draft import Draft
from errands.model.states import OPEN, STANDING
from errands.model.view import View

T = TypeVar("T")
WITHIN = 60.0  # seconds to wait for a fact


class TestEngine(AsyncEngine):
    """The engine of a program, with shortcuts for tests."""

    __test__ = False  # its name looks like a test suite to pytest

    async def finished(self, command: str | Sequence[str] | Draft, **options: Any) -> View:
        task = await self.submit(command, **options)
        return await self.wait(task.id, timeout=WITHIN)

    async def answered(self, prompt: str, **options: Any) -> View:
        task = await self.ask(prompt, **options)
        return await self.wait(task.id, timeout=WITHIN)

    async def started(self, command: str | Sequence[str], **options: Any) -> View:
        """Start a task and wait until it prints `ready`."""
        task = await self.submit(command, **options)
        return await self.printed(task.id, "ready")

    async def printed(self, task_id: str, words: str) -> View:
        """Wait until a task has printed this text."""

        def is_printed() -> bool:
            over = self.engine.store.ended(task_id)
            found = self.engine.output(task_id).content
            assert words.encode() in found or not over, f"it ended without {words!r}: {found!r}"
            return words.encode() in found

        await until(is_printed)
        return await self.get(task_id)

    async def text(self, task_id: str) -> str:
        return b"".join([piece async for piece in self.follow(task_id)]).decode()


@asynccontextmanager
async def embedded(home: str, **overrides: Any) -> AsyncIterator[TestEngine]:
    """Run an embedded daemon on a home; `overrides` are configuration keys, as for `errands.connect`.

    Everything that the test submits is approved, except with `yes=False`.
    """
    connection = connect(home, **{"yes": True, **overrides})
    connection.start_daemon = _no_daemon_afterwards
    async with connection as connected:
        engine = TestEngine(connected.engine, ensure_daemon=_no_daemon)
        try:
            yield engine
        finally:
            live = [view.id for view in await engine.list(states=(*OPEN, *STANDING))]
            await engine.cancel(*live)
            await engine.wait_all(live, timeout=WITHIN)


async def until(fact: Callable[[], T]) -> T:
    """Wait until a fact is true, and return it."""
    deadline = time.monotonic() + WITHIN
    while not (found := fact()):
        assert time.monotonic() < deadline, f"it did not come true within {WITHIN:g} s"
        await asyncio.sleep(0.005)
    return found


def _no_daemon_afterwards() -> None:
    """Leave alone what a channel could not deliver: a daemon would try again for days."""


def _no_daemon() -> None:
    raise AssertionError("the embedded daemon of this home has stopped")
