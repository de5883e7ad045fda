"""The verbs of the engine as one call uses them: what it launched once, it finds when it is repeated.

While it waits for a task it tells how far that has come, and notices what the task asks a person.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from errands.engine.async_engine import AsyncEngine
from errands.frontends.mcp.call import Call
from errands.model.view import View
from errands.ports.store import Query

_LOOK = 0.5  # seconds between two looks at how far a task has come
_SIGN_OF_LIFE = 5.0  # seconds after which a client is told that nothing new is no end either
_STEP = 0.001  # percent: what is told must always be more than before


class IdempotentEngine:
    def __init__(self, engine: AsyncEngine, call: Call, *, launched: Callable[[], None]) -> None:
        self._engine = engine
        self._call = call
        self._note_launch = launched
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def submit(self, command: Any, /, **options: Any) -> View:
        return await self._once(lambda key: self._engine.submit(command, **{"key": key, **options}))

    async def ask(self, text: str, /, **options: Any) -> View:
        return await self._once(lambda key: self._engine.ask(text, **{"key": key, **options}))

    async def resume(self, task_id: str, text: str, /, **options: Any) -> View:
        return await self._once(lambda _: self._engine.resume(task_id, text, **options))

    async def restart(self, task_id: str, /) -> View:
        return await self._once(lambda _: self._engine.restart(task_id))

    async def acknowledge(self, run_id: str, /, *, reader: str) -> None:
        """Note that the caller has got the end of a run; a call that became a task may never be asked for."""
        if not self._call.is_kept:
            await self._engine.acknowledge(run_id, reader=reader)

    async def wait(self, task_id: str, /, *, timeout: float | timedelta | None = None) -> View:
        watching = asyncio.create_task(self._watch(task_id))
        try:
            return await self._engine.wait(task_id, timeout=timeout)
        finally:
            watching.cancel()

    async def _once(self, launch: Callable[[str], Awaitable[View]]) -> View:
        number, self._count = self._count, self._count + 1
        if number < len(self._call.launched):
            return self._engine.engine.summaries([self._call.launched[number]])[0]
        # The key holds even if this process dies before it has noted the id.
        view = await launch(f"{self._call.id}:{number}")
        self._call.launched.append(view.id)
        self._note_launch()
        return view

    async def _watch(self, task_id: str) -> None:
        done, told_at, said = 0.0, time.monotonic(), ""
        began = told_at
        while True:
            for view in self._engine.engine.list(Query(ids=(task_id,))):
                self._look_for_questions(view)
                seen, now = view.progress, time.monotonic()
                if seen is not None and seen.percent > done:
                    done, told_at = seen.percent, now
                    # In numbers alone: what a task says about them is its own words, and no fence is here.
                    said = f"{view.id}: {seen.percent:.0f}%"
                    self._call.progress(done, 100, said)
                elif now - told_at >= _SIGN_OF_LIFE:
                    done, told_at = done + _STEP, now
                    self._call.progress(done, 100 if said else None, said or _alive(view, now - began))
            await asyncio.sleep(_LOOK)

    def _look_for_questions(self, view: View) -> None:
        """Notice what an agent asks. What is proposed as a whole was asked about when it was launched."""
        if view.agent is None or view.agent.waiting != "approval":
            return
        children = self._engine.engine.proposals_of(view)
        for question in (view.question, *(each.question for each in children)):
            if question is not None:
                self._call.come_upon(question)


def _alive(view: View, seconds: float) -> str:
    waiting = view.agent.waiting if view.agent is not None else None
    return f"{view.id}: {'waiting for ' + waiting if waiting else view.state}, {seconds:.0f} s"
