"""The sender: drains the outbox into the channels, each address on its own, none delaying another.

It runs in a process of its own, so that no channel can slow the daemon down. Notices are assigned
to a delivery before it is sent, and marked once the channel has accepted it: after a crash in between, the
same delivery is sent again under the same key. Deliveries to one address keep their order.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta

from errands.engine.notices.inbox import is_answered
from errands.engine.notices.run_result import with_result
from errands.model.errors import NotNow, Refused, Unacknowledged
from errands.model.notices.delivery import delivery_of, facts_of, masked_body, sealed, share
from errands.model.notices.notice import LONGEST_BACKOFF, due_in
from errands.model.record import evolve
from errands.ports.channel import AT_ONCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.notices.delivery import Delivery
    from errands.model.notices.notice import Address, Notice, NoticeState
    from errands.model.text.mask import Mask
    from errands.ports.channel import Channel
    from errands.ports.clock import Clock
    from errands.ports.store import Store

BATCH = 200
GIVE_UP = 20  # tries, over about two and a half hours
FIRST_BACKOFF = timedelta(seconds=1)
PATIENCE = timedelta(hours=1)  # with a receiver that is always busy
TIMEOUT = 30.0  # seconds for one try
LINGER = 10.0  # seconds without work after which the sender ends
_LOG = logging.getLogger("errands.sender")


class Sender:
    def __init__(
        self,
        store: Store,
        channel: Callable[[str], Channel],
        clock: Clock,
        *,
        mask: Callable[[str], Mask],
        output: Callable[[str], Mapping[str, str]] = lambda run_id: {},
        edition: Callable[[], object] = lambda: None,
        announce: Callable[[Collection[str]], object] = lambda task_ids: None,
        backoff: timedelta = FIRST_BACKOFF,
        longest: timedelta = LONGEST_BACKOFF,
        timeout: float = TIMEOUT,
    ) -> None:
        self._store = store
        self._make = channel
        self._clock = clock
        self._mask = mask
        self._output = output
        self._edition = edition
        self._announce = announce
        self._made_of = edition()
        self._backoff = backoff
        self._longest = longest
        self._timeout = timeout
        self._channels: dict[str, Channel] = {}
        self._outdated: list[tuple[str, Channel]] = []
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._busy: dict[Address, asyncio.Task[None]] = {}
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake the sender: there may be something to send."""
        self._rung.set()

    async def run(self, *, linger: float = LINGER) -> None:
        """Send what is due, until there has been nothing to do for `linger` seconds."""
        while True:
            self._rung.clear()
            wait = self._begin()
            if self._busy or (wait is not None and wait <= linger):
                await self._rest(60.0 if wait is None else wait)
            elif not await self._rest(linger):
                return

    async def close(self, within: float = 5.0) -> None:
        """Wait briefly for what is being sent; the next sender sends the rest again."""
        if self._busy:
            await asyncio.wait(self._busy.values(), timeout=within)
        for each in self._busy.values():
            each.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)
        for name, channel in (*self._outdated, *self._channels.items()):
            try:
                async with asyncio.timeout(within):
                    await channel.close()
            except Exception as error:  # noqa: BLE001  # a channel may fail in any way, also at its end
                _LOG.warning("channel %s did not close: %s", name, error)

    def _begin(self) -> float | None:
        """Start to serve every address that is due; return the seconds until the next one is."""
        wait: float | None = None
        now = self._clock.now()
        for address, at in self._store.queues():
            if address in self._busy:
                continue
            seconds = due_in(at, now)
            if not seconds:
                serving = asyncio.get_running_loop().create_task(self._serve(address))
                self._busy[address] = serving
            else:
                wait = seconds if wait is None else min(wait, seconds)
        return wait

    async def _rest(self, seconds: float) -> bool:
        """Wait for a ring; return whether there was one."""
        try:
            # Not wait_for: until Python 3.12 it swallows a cancel that comes together with the ring.
            async with asyncio.timeout(max(0.001, seconds)):
                await self._rung.wait()
                return True
        except TimeoutError:
            return False

    async def _serve(self, address: Address) -> None:
        turns = self._turns.setdefault(address.channel, asyncio.Semaphore(AT_ONCE))
        try:
            is_taken = True
            while is_taken and (notices := self._store.queued(address, limit=BATCH)):
                async with turns:
                    is_taken = await self._send(address, notices)
                    self._announce({each.task_id for each in notices})
        except Exception:  # noqa: BLE001  # the loop's edge
            _LOG.exception("the outbox cannot be used; trying again soon")
            await asyncio.sleep(1.0)
        finally:
            del self._busy[address]
            self._rung.set()

    async def _send(self, address: Address, waiting: list[Notice]) -> bool:
        """Send the next delivery to an address; return whether another one may follow at once."""
        if is_answered(self._store, waiting[0]):  # it would only confuse
            with self._store:
                self._store.mark_delivered([waiting[0].id], now=self._clock.now())
            return True
        channel: Channel | None = None
        notices = sealed(waiting) or waiting[:1]
        try:
            channel = self._channel(address.channel)
            notices = sealed(waiting) or self._assign(waiting[: share(waiting, channel.budget)])
            async with asyncio.timeout(self._timeout):
                await channel.deliver(self._delivery(notices))
        except NotNow as error:
            return self._not_now(notices, error)
        except (Refused, ImportError) as error:
            return self._give_up(notices, "dead", str(error))
        except (Unacknowledged, TimeoutError) as error:
            said = str(error) or f"no answer within {self._timeout:g} s"
            if channel is not None and channel.is_deduplicating:
                return self._defer(notices, f"unacknowledged, sent again: {said}")
            return self._give_up(notices, "unknown", said)
        except Exception as error:  # noqa: BLE001  # a channel may fail in any way, and delays no other
            return self._defer(notices, str(error) or type(error).__name__)
        with self._store:
            self._store.mark_delivered([each.id for each in notices], now=self._clock.now())
        return True

    def _channel(self, name: str) -> Channel:
        if (edition := self._edition()) != self._made_of:
            # A delivery may still be using them, so they are closed at the end.
            self._outdated += self._channels.items()
            self._channels.clear()
            self._made_of = edition
        if name not in self._channels:
            self._channels[name] = self._make(name)
        return self._channels[name]

    def _assign(self, notices: list[Notice]) -> list[Notice]:
        with self._store:
            self._store.assign_delivery([each.id for each in notices])
        self._announce({each.task_id for each in notices})
        return [evolve(each, delivery=notices[0].id) for each in notices]

    def _delivery(self, notices: list[Notice]) -> Delivery:
        """Return the delivery with its secrets masked."""
        is_alone = len(notices) == 1
        return delivery_of([evolve(each, body=self._body(each, is_alone=is_alone)) for each in notices])

    def _body(self, notice: Notice, *, is_alone: bool) -> str:
        facts = facts_of(notice)
        if is_alone:  # read here, where it delays no caller
            facts = with_result(facts, self._output)
        return masked_body(facts, self._mask(notice.task_id))

    def _not_now(self, notices: list[Notice], error: NotNow) -> bool:
        now = self._clock.now()
        if now - notices[0].created_at > PATIENCE:
            return self._give_up(notices, "dead", f"{error}, for more than an hour")
        next_at = now + timedelta(seconds=error.after)
        return self._put_off(notices, str(error), next_at, is_attempt=False)

    def _defer(self, notices: list[Notice], error: str) -> bool:
        attempts = notices[0].attempts
        _LOG.warning("%s did not take %d notices: %s", notices[0].address, len(notices), error)
        if attempts + 1 >= GIVE_UP:
            return self._give_up(notices, "dead", error)
        # Jitter, so that deliveries that failed together are not retried together.
        delay = min(self._backoff * 2**attempts, self._longest) * random.uniform(0.8, 1.2)
        return self._put_off(notices, error, self._clock.now() + delay)

    def _put_off(
        self, notices: list[Notice], error: str, next_at: datetime, *, is_attempt: bool = True
    ) -> bool:
        with self._store:
            ids = [each.id for each in notices]
            self._store.defer(ids, error=_bounded(error), next_at=next_at, is_attempt=is_attempt)
        return False

    def _give_up(self, notices: list[Notice], state: NoticeState, error: str) -> bool:
        _LOG.error("%d notices to %s are %s: %s", len(notices), notices[0].address, state, error)
        with self._store:
            self._store.give_up([each.id for each in notices], state, error=_bounded(error))
        return True


def _bounded(error: str) -> str:
    return error if len(error) <= 1000 else error[:999] + "…"
