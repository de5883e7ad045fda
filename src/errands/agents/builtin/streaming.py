"""Spoken: what a model says, told piece by piece while it is still at it."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

from errands.ports.agent import Activity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext


def spoken(context: AgentContext) -> Callable[[RunContext[None], AsyncIterable[Any]], Awaitable[None]]:
    """Give what listens to a model and tells the desk."""

    async def listen(_ctx: RunContext[None], events: AsyncIterable[Any]) -> None:
        async for event in events:
            words = _words(event)
            if words:
                context.report(Activity(kind="piece", text=words))

    return listen


def _words(event: object) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""
