"""An outbox with notices in it, and channels that tests control."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from errands.engine.engine import Engine
from errands.engine.notices.sender import Sender
from errands.model.notices.delivery import Delivery
from errands.model.notices.notice import Address, Notice
from errands.model.text.json_text import plain_text
from errands.model.text.mask import Mask
from errands.ports import channel as ports
from tests.hand_clock import START, HandClock


class Fake:
    """A channel that fails until the test lets it work, and remembers what it accepted."""

    def __init__(self, *, budget: int = 4000, is_deduplicating: bool = False) -> None:
        self.budget = budget
        self.is_deduplicating = is_deduplicating
        self.error: Exception | None = None
        self.hangs = False
        self.taken: list[Delivery] = []
        self.is_closed = False

    async def deliver(self, delivery: Delivery) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        self.taken.append(delivery)

    async def close(self) -> None:
        self.is_closed = True

    @property
    def ids(self) -> list[int]:
        return [notice.id for delivery in self.taken for notice in delivery.notices]


class Outbox:
    def __init__(self, client: Engine) -> None:
        self.store = client.store
        self.clock = HandClock()
        self._client = client

    def add(self, channel: str, number: int = 1, *, task: str = "x-222222", **facts: Any) -> None:
        """Put the end of a run into the outbox."""
        run_id = f"{task}.{number}"
        state = str(facts.pop("state", "completed"))
        body = plain_text({"task": task, "run": run_id, "state": state, **facts})
        with self.store as store:
            store.add_notice(
                run_id, state, Address(channel=channel, target="me"), body=body, now=self.clock.now()
            )

    def sender(self, channels: Mapping[str, ports.Channel], **options: Any) -> Sender:
        return Sender(
            self.store,
            lambda name: channels[name],
            self.clock,
            **{"mask": lambda _: Mask({}), "backoff": timedelta(seconds=1), **options},
        )

    async def drain(self, channels: Mapping[str, ports.Channel], **options: Any) -> None:
        """Send all that is due now."""
        sender = self.sender(channels, **options)
        try:
            await sender.run(linger=0.0)
        finally:
            await sender.close()

    @property
    def undelivered(self) -> list[Notice]:
        return self.store.undelivered()


def later(outbox: Outbox, seconds: float) -> None:
    outbox.clock.turn(timedelta(seconds=seconds))


__all__ = ["START", "Fake", "Outbox", "later"]
