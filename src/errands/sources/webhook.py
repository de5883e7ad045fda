"""A webhook as a source: a sender that knows its secret posts something."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from errands.model.text.json_text import plain_text
from errands.model.trigger import On
from errands.ports.source import Observation, SourceEvent
from errands.sources.receiver import IncomingRequest, Inlet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import SourceContext

LONGEST_TEXT = 16_000  # characters of a payload that is not JSON


class Webhook:
    def __init__(self, trigger: On, context: SourceContext) -> None:
        self._inlet = Inlet(trigger.subject, context.webhook_settings(trigger.subject))

    async def open(self, baseline: str | None) -> None:
        await self._inlet.open()

    def observe(self) -> AsyncIterator[Observation]:
        return self._inlet.observe(lambda delivery: _event(self._inlet.name, delivery))

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
