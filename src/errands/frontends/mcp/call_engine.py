"""The engine as one MCP call uses it: while it waits it reports progress and notices questions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from errands.engine.async_engine import AsyncEngine
from errands.frontends.mcp.call import Call
from errands.frontends.tools.idempotent_engine import IdempotentEngine
from errands.model.view import View
from errands.ports.store import Query

_POLL = 0.5  # seconds between two checks of the progress of a task
_KEEPALIVE = 5.0  # seconds without progress after which the client still gets a message
_STEP = 0.001  # percent: every reported value must be greater than the one before


class CallEngine(IdempotentEngine):
    """`save` stores the call; it runs after every launch.

    `agent` answers prompts that name no agent, `forker` those that fork the client's own conversation.
    """

    def __init__(
        self, engine: AsyncEngine, call: Call, *, save: Callable[[], None], agent: str = "", forker: str = ""
    ) -> None:
        super().__init__(engine, call.id, call.launched)
        self._call = call
        self._save = save
        self._agent = agent
        self._forker = forker

    async def ask(self, text: str, /, **options: Any) -> View:
        own = self._agent if options.get("fork") is None else self._forker
        return await super().ask(
            text, **options, **({"agent": own} if own and options.get("agent") is None else {})
        )

    async def acknowledge(self, run_id: str, /, *, reader: str) -> None:
        """Record that the caller got the end of a run; a call that became a task may never be fetched."""
        if not self._call.is_kept:
            await self._engine.acknowledge(run_id, reader=reader)

    async def wait(self, task_id: str, /, *, timeout: float | timedelta | None = None) -> View:
        watching = asyncio.create_task(self._watch(task_id))
        self._call.waits += 1
        try:
            return await self._engine.wait(task_id, timeout=timeout)
        finally:
            self._call.waits -= 1
            watching.cancel()

    async def _once(self, launch: Callable[[str], Awaitable[View]]) -> View:
        known = len(self._call.launched)
        view = await super()._once(launch)
        if len(self._call.launched) > known:
            self._save()
        return view

    async def _watch(self, task_id: str) -> None:
        started_at = reported_at = time.monotonic()
        done, message = 0.0, ""
        while True:
            for view in self._engine.engine.list(Query(ids=(task_id,))):
                self._note_questions(view)
                progress, now = view.progress, time.monotonic()
                if progress is not None and progress.percent > done:
                    done, reported_at = progress.percent, now
                    # Numbers only: the task's own words would have to be fenced.
                    message = f"{view.id}: {progress.percent:.0f}%"
                    self._call.progress(done, 100, message)
                elif now - reported_at >= _KEEPALIVE:
                    done, reported_at = done + _STEP, now
                    alive = message or _alive(view, now - started_at)
                    self._call.progress(done, 100 if message else None, alive)
            await asyncio.sleep(_POLL)

    def _note_questions(self, view: View) -> None:
        """Note what an agent asks; a proposed task was asked about when it was launched."""
        if view.agent is None or view.agent.waiting != "approval":
            return
        children = self._engine.engine.proposals_of(view)
        for question in (view.question, *(each.question for each in children)):
            if question is not None:
                self._call.note_question(question)


def _alive(view: View, seconds: float) -> str:
    waiting = view.agent.waiting if view.agent is not None else None
    return f"{view.id}: {'waiting for ' + waiting if waiting else view.state}, {seconds:.0f} s"
