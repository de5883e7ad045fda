"""A channel: a way to deliver notices to the targets it knows.

`deliver` returns once the delivery is safely with its receiver, and may be called again with the same one
after a crash: its key lets the receiver drop the duplicate. It raises `Unacknowledged` when the delivery was
sent but may not have arrived, `NotNow` when the receiver is busy, `Refused` when a retry is pointless, and
any other error when a retry makes sense.
"""

from __future__ import annotations

AT_ONCE = 8  # deliveries that one channel sends at a time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from errands.model.notices.delivery import Delivery

    class Channel(Protocol):
        """`budget` is the most bytes one delivery should have.

        With `is_deduplicating` a delivery that arrives twice is seen once, so an unacknowledged one is sent
        again; otherwise a person decides.
        """

        budget: int
        is_deduplicating: bool

        async def deliver(self, delivery: Delivery) -> None:
            """Deliver it or raise."""

        async def close(self) -> None:
            """Release connections; nothing is delivered afterwards."""
