"""An engine for tests: embedded in the test, on a home of its own, with nothing left behind.

Leaving with live work starts the daemon, as it does for every program, so what still lives at the end of a
test is cancelled first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from errands.bootstrap import connect
from errands.engine.async_engine import AsyncEngine
from errands.model.options.draft import Draft
from errands.model.states import OPEN, STANDING
from errands.model.view import View

T = TypeVar("T")
WITHIN = 20.0  # seconds after which a fact is not going to come true any more


class TestEngine(AsyncEngine):
    """The engine of a program, with what tests do all the time."""

    __test__ = False  # pytest would take it for a suite, by its name

    async def finished(self, command: str | Sequence[str] | Draft, **options: Any) -> View:
        """Run a task to its end."""
        task = await self.submit(command, **options)
        return await self.wait(task.id, timeout=WITHIN)

    async def answered(self, prompt: str, **options: Any) -> View:
        """Have a prompt answered."""
        task = await self.ask(prompt, **options)
        return await self.wait(task.id, timeout=WITHIN)

    async def started(self, command: str | Sequence[str], **options: Any) -> View:
        """Start a task that prints `ready` when it is, and wait until it does."""
        task = await self.submit(command, **options)
        return await self.printed(task.id, "ready")

    async def printed(self, task_id: str, words: str) -> View:
        """Wait until a task has printed these words."""

        def is_printed() -> bool:
            over = self.engine.store.ended(task_id)
            found = self.engine.output(task_id).content
            assert words.encode() in found or not over, f"it ended without {words!r}: {found!r}"
            return words.encode() in found

        await until(is_printed)
        return await self.get(task_id)

    async def text(self, task_id: str) -> str:
        """Read all that a task printed."""
        return b"".join([piece async for piece in self.follow(task_id)]).decode()


@asynccontextmanager
async def embedded(home: str, **overrides: Any) -> AsyncIterator[TestEngine]:
    """Hold a home and run its loops; `overrides` are configuration keys, as for `errands.connect`.

    The test answers for what it submits, unless it says `yes=False`.
    """
    async with connect(home, **{"yes": True, **overrides}) as connected:
        engine = TestEngine(connected.engine, ensure_daemon=_nobody)
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


def _nobody() -> None:
    raise AssertionError("nobody runs the loops of this home any more")
