"""The notifier: drains the outbox into the channels, each on its own, none delaying another.

A notice is marked delivered only after its channel has taken it; after a crash in between it is sent again
under the same id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta

from errands.model.notice import LONGEST_BACKOFF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.channel import Channel
    from errands.ports.clock import Clock
    from errands.ports.store import Store


BATCH = 200
GATHER = 0.3  # seconds: what ends in a burst is sent in one go
GIVE_UP = 12  # tries, over about an hour and a half
_LOG = logging.getLogger("errands.notifier")


class Notifier:
    def __init__(self, store: Store, channels: Mapping[str, Channel], clock: Clock) -> None:
        self._store = store
        self._channels = channels
        self._clock = clock
        self._rung = {name: asyncio.Event() for name in channels}

    def ring(self) -> None:
        """Say that there may be something to send."""
        for event in self._rung.values():
            event.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for name in self._channels:
                group.create_task(self._serve(name))

    async def drain(self, name: str) -> int:
        """Send what is due on one channel; give the number of notices it took."""
        sent = 0
        while notices := self._store.due_notices(name, now=self._clock.now(), limit=BATCH):
            ids = [each.id for each in notices]
            try:
                await self._channels[name].deliver(notices)
            except Exception as error:  # noqa: BLE001  # a channel may fail in any way, and delays no other
                _LOG.warning("channel %s did not take %d notices: %s", name, len(ids), error)
                delay = min(timedelta(seconds=2.0 ** notices[0].attempts), LONGEST_BACKOFF)
                with self._store:
                    self._store.deferred(
                        ids, error=str(error), next_at=self._clock.now() + delay, dead_after=GIVE_UP
                    )
                break
            with self._store:
                self._store.delivered(ids, now=self._clock.now())
            sent += len(ids)
        return sent

    async def _serve(self, name: str) -> None:
        rung = self._rung[name]
        while True:
            wait = 60.0
            try:
                await self.drain(name)
                due = self._store.next_notice_at(name)
                if due is not None:
                    wait = max(0.05, (due - self._clock.now()).total_seconds())
            except Exception:  # noqa: BLE001  # the loop's edge
                _LOG.exception("the outbox cannot be read; trying again soon")
                wait = 2.0
            try:
                # Not wait_for: until Python 3.12 it swallows a cancel that comes together with the ring.
                async with asyncio.timeout(min(wait, 60.0)):
                    await rung.wait()
            except TimeoutError:
                pass
            await asyncio.sleep(GATHER)
            rung.clear()
