"""A line to the doorbell that an event loop can wait on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from errands.engine.bell_client import ALL, LANE, BellClient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.core import EngineCore


class BellLine:
    def __init__(
        self,
        core: EngineCore,
        task_ids: Sequence[str],
        *,
        ensure_daemon: Callable[[], None] | None = None,
        ends_only: bool = False,
    ) -> None:
        self._bell = BellClient(core.home.bell)
        self._ids = task_ids
        self._ends_only = ends_only
        self._ensure_daemon = ensure_daemon or core.ensure_daemon
        self._loop = asyncio.get_running_loop()
        self._handle = -1
        self._news: asyncio.Future[None] | None = None

    async def __aenter__(self) -> BellLine:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._hang_up()

    async def news(self, timeout: float) -> list[str] | None:
        """Wait for news of the tasks; return those that changed, or None when everything is worth a look.

        None also without news, because a ring may get lost, and at first, because nothing was watched before.
        """
        if self._handle < 0:
            if not self._call():
                self._ensure_daemon()
                await asyncio.sleep(min(timeout, 0.05))
            return None
        deadline = self._loop.time() + timeout
        # A wake-up may be about what was read already, so what there is to read decides.
        while not (words := self._bell.read()):
            if words is None:
                self._hang_up()
                return None
            if self._loop.time() >= deadline:
                return None
            await self._wait_until(deadline)
        if "watching" in words:
            return None
        changed = [task_id for line in words for task_id in line.split()[1:] if line.startswith("changed ")]
        return None if ALL in changed else [each for each in changed if not each.startswith(LANE)]

    async def _wait_until(self, deadline: float) -> None:
        self._news = self._loop.create_future()
        timer = self._loop.call_at(deadline, self._wake)
        try:
            await self._news
        finally:
            timer.cancel()
            self._news = None

    def _call(self) -> bool:
        if not (self._bell.wait_for(self._ids[0]) if self._ends_only else self._bell.watch(self._ids)):
            return False
        self._handle = self._bell.fileno()
        self._loop.add_reader(self._handle, self._wake)
        return True

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _hang_up(self) -> None:
        if self._handle >= 0:
            self._loop.remove_reader(self._handle)
            self._handle = -1
        self._bell.close()
