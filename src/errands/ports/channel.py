"""A channel: a way to deliver letters to the targets it knows.

`deliver` returns once the letter is safely with its receiver, and may be called again with the same letter
after a crash: the letter's key lets the receiver drop the second one. It raises `Unacknowledged` when the
letter has left and nobody knows whether it arrived, `NotNow` when the receiver is busy, `Refused` when it
makes no sense to try again, and anything else when it does.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from errands.model.notices.delivery import Delivery

    class Channel(Protocol):
        """`budget` is the most bytes that one letter should have.

        `is_deduplicating` tells whether a letter that arrives twice is seen once: then one of which nobody
        knows whether it arrived is sent again, otherwise a person decides.
        """

        budget: int
        is_deduplicating: bool

        async def deliver(self, delivery: Delivery) -> None:
            """Deliver it or raise."""

        async def close(self) -> None:
            """Let go of connections; nothing is delivered afterwards."""
