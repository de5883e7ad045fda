"""The inbox: keeps notices for the next reader of their owner, who is told each of them once."""

from __future__ import annotations

from collections.abc import Sequence

from errands.model.notice import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store


class InboxChannel:
    name = "inbox"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def deliver(self, notices: Sequence[Notice]) -> None:
        with self._store:
            self._store.put_inbox(notices)
