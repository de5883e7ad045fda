"""A sender in a storm: its channel fails half the time, before or after it has accepted the delivery, and the
process dies when it is least convenient. What arrived stands in a ledger."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from datetime import timedelta

from errands.bootstrap import SystemClock, open_engine
from errands.engine.notices.sender import Sender
from errands.model.errors import Unacknowledged
from errands.model.notices.delivery import Delivery
from errands.model.text.mask import Mask
from errands.ports.home import Home


class Stormy:
    budget = 200 + 10 * 64  # ten notices in a delivery
    is_deduplicating = True

    def __init__(self, ledger: str, seed: int) -> None:
        self._ledger = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._luck = random.Random(seed)

    async def deliver(self, delivery: Delivery) -> None:
        await asyncio.sleep(0)
        self._perhaps_die()
        fate = self._luck.random()
        if fate < 0.25:
            raise ConnectionError("down")
        ids = " ".join(f"{each.id}:{each.run_id}" for each in delivery.notices)
        os.write(self._ledger, f"{delivery.key} {ids}\n".encode())
        self._perhaps_die()
        if fate < 0.5:
            raise Unacknowledged("the answer is lost")

    async def close(self) -> None:
        os.close(self._ledger)

    def _perhaps_die(self) -> None:
        if self._luck.random() < 0.003:
            os.kill(os.getpid(), signal.SIGKILL)


class Dead:
    budget = 4000
    is_deduplicating = False

    async def deliver(self, delivery: Delivery) -> None:
        raise ConnectionError("it has been dead for years")

    async def close(self) -> None:
        pass


async def main(home: str, ledger: str, seed: int) -> None:
    engine = open_engine(Home(path=home))
    sender = Sender(
        engine.store,
        lambda name: Dead() if name == "dead" else Stormy(ledger, seed),
        SystemClock(),
        mask=lambda _: Mask({}),
        backoff=timedelta(microseconds=200),
        longest=timedelta(milliseconds=20),
    )
    running = asyncio.create_task(sender.run())
    while any(address.channel == "stormy" for address, _ in engine.store.queues()):
        await asyncio.sleep(0.05)
    running.cancel()
    await sender.close(within=0.1)
    engine.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
