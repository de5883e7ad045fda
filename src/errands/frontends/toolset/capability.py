"""The capability: background tasks, and the news of them pushed into the run that is live.

What ends while the agent works is told with the next request to its model, and if it was about to finish, it
gets one more turn; what ended between two runs is told at the beginning of the next one. A notice counts as
told when the model has answered to it, and not before.
"""

from __future__ import annotations

import asyncio
from copy import copy
from datetime import timedelta
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import DeferredToolRequests
from pydantic_graph import End

from errands.engine.async_engine import AsyncEngine
from errands.engine.notices import agent_report
from errands.frontends.toolset.toolset import BackgroundToolset
from errands.model.errors import BadValue


class BackgroundTasks(AbstractCapability[Any]):
    """Give an agent background tasks, and tell it their ends.

    `Agent(..., capabilities=[BackgroundTasks(engine)])`; the options are those of `BackgroundToolset`. A run
    that has nothing left to do ends, and what is still running is told to the next run of the conversation;
    with `linger` it stays up to so many seconds for what it has started, to be told.
    """

    def __init__(self, engine: AsyncEngine, *, linger: float | timedelta = 0, **options: Any) -> None:
        seconds = linger.total_seconds() if isinstance(linger, timedelta) else float(linger)
        if seconds < 0:
            raise BadValue(f"linger cannot be less than nothing: {linger}")
        self._toolset = BackgroundToolset(engine, wakes=True, **options)
        self._engine = engine
        self._linger = seconds
        self._telling: list[int] = []

    def get_toolset(self) -> BackgroundToolset:
        return self._toolset

    async def for_run(self, ctx: RunContext[Any]) -> BackgroundTasks:
        mine = copy(self)
        mine._telling = []
        return mine

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self._tell(ctx)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        if self._telling:
            self._engine.engine.notices.mark_delivered(self._telling)
            self._telling = []
        return response

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        if isinstance(result, End) and not isinstance(result.data.output, DeferredToolRequests):
            await self._stay(ctx)
            self._tell(ctx)
        return result

    def _tell(self, ctx: RunContext[Any]) -> None:
        """Put what the model was not told yet into its next request."""
        engine = self._engine.engine
        notices = [
            each
            for each in agent_report.news(engine, self._toolset.session(ctx))[: agent_report.MOST]
            if each.id not in self._telling
        ]
        if notices:
            ctx.enqueue(agent_report.message(engine, notices))
            self._telling += [each.id for each in notices]

    async def _stay(self, ctx: RunContext[Any]) -> None:
        """Wait until something ends that this conversation has started, if there is nothing to tell yet."""
        session = self._toolset.session(ctx)
        if not self._linger or agent_report.news(self._engine.engine, session):
            return
        live = await self._engine.list(states=("pending", "running"), parent=session)
        waiting = [asyncio.create_task(self._engine.wait(view.id)) for view in live]
        if not waiting:
            return
        try:
            await asyncio.wait(waiting, timeout=self._linger, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
