"""A channel: a way to deliver notices.

`deliver` returns once the notice is safely with the receiver and may be called again with the same
notice after a crash: the notice's id lets the receiver drop the second one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from errands.model.notice import Notice

    class Channel(Protocol):
        name: str

        async def deliver(self, notices: Sequence[Notice]) -> None:
            """Deliver all of them or raise; the notifier tries again later."""
