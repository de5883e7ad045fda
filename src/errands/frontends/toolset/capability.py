"""The capability: background tasks, whose ends are reported into the agent's live run.

A task that ends while the agent works is reported with the next request to its model, and an agent about to
finish gets one more turn; one that ended between two runs is reported at the start of the next. A notice
counts as delivered when the model has responded to it, and not before.
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
    """Background tasks for an agent, with reports of their ends.

    `Agent(..., capabilities=[BackgroundTasks(engine)])`; the options are those of `BackgroundToolset`. A run
    with nothing left to do ends, and tasks still running are reported to the next run of the conversation;
    with `linger` it waits up to that long for a task it started.
    """

    def __init__(self, engine: AsyncEngine, *, linger: float | timedelta = 0, **options: Any) -> None:
        seconds = linger.total_seconds() if isinstance(linger, timedelta) else float(linger)
        if seconds < 0:
            raise BadValue(f"linger must not be negative (got {linger})")
        self._toolset = BackgroundToolset(engine, wakes=True, **options)
        self._engine = engine
        self._linger = seconds
        self._reporting: list[int] = []

    def get_toolset(self) -> BackgroundToolset:
        return self._toolset

    async def for_run(self, ctx: RunContext[Any]) -> BackgroundTasks:
        mine = copy(self)
        mine._reporting = []
        return mine

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self._report(ctx)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        if self._reporting:
            self._engine.engine.notices.mark_delivered(self._reporting)
            self._reporting = []
        return response

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        if isinstance(result, End) and not isinstance(result.data.output, DeferredToolRequests):
            await self._wait_for_news(ctx)
            self._report(ctx)
        return result

    def _report(self, ctx: RunContext[Any]) -> None:
        """Put new notices into the next request to the model."""
        engine = self._engine.engine
        notices = [
            each
            for each in agent_report.news(engine, self._toolset.session(ctx))[: agent_report.MOST]
            if each.id not in self._reporting
        ]
        if notices:
            ctx.enqueue(agent_report.message(engine, notices))
            self._reporting += [each.id for each in notices]

    async def _wait_for_news(self, ctx: RunContext[Any]) -> None:
        """Wait until a task of this conversation ends, unless there is something to report already."""
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
