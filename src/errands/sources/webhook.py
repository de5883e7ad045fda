"""A webhook as a source: a sender that knows its secret posts something."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from errands.model.text.json_text import plain_text
from errands.model.trigger import On
from errands.ports.source import Observation, SourceEvent
from errands.sources.receiver import IncomingRequest, Inlet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import SourceContext

HEARTBEAT = 60.0  # seconds
LONGEST_TEXT = 16_000  # characters of a payload that is not JSON


class Webhook:
    """The baseline is empty: a delivery that comes twice is known by its key."""

    def __init__(self, trigger: On, context: SourceContext) -> None:
        self._inlet = Inlet(trigger.subject, context.webhook_settings(trigger.subject))

    async def open(self, baseline: str | None) -> None:
        await self._inlet.open()

    async def observe(self) -> AsyncIterator[Observation]:
        yield Observation(baseline="")
        async with aclosing(self._inlet.deliveries(HEARTBEAT)) as deliveries:  # type: ignore[type-var]
            async for each in deliveries:
                events = () if each is None else (_event(self._inlet.name, each),)
                yield Observation(baseline="", events=events)

    async def close(self) -> None:
        await self._inlet.close()


def _event(name: str, delivery: IncomingRequest) -> SourceEvent:
    facts: dict[str, Any] = {"delivery": delivery.key}
    if delivery.event:
        facts["event"] = delivery.event
    try:
        payload = json.loads(delivery.content)
        plain_text(payload)  # a number may be too large to be written again
        facts["payload"] = payload
    except (ValueError, RecursionError):
        facts["payload"] = delivery.content.decode("utf-8", "replace")[:LONGEST_TEXT]
    what = delivery.event or _type(facts["payload"]) or "something"
    return SourceEvent(text=f"{name} was sent {what}", facts=facts, key=delivery.key)


def _type(payload: Any) -> str:
    found = payload.get("type") if isinstance(payload, dict) else None
    return found[:100] if isinstance(found, str) else ""
