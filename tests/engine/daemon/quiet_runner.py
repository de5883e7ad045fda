"""A runner that starts nothing; the test reports in its place."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from errands.ports.runner import Launch, NotStarted

if TYPE_CHECKING:
    from errands.ports.runner import Found, Report


class QuietRunner:
    def __init__(self) -> None:
        self.listener: Callable[[Report], None] = lambda _: None
        self.launches: list[Launch] = []

    def start(self, launch: Launch) -> None:
        self.launches.append(launch)

    def stop(self, run_id: str, *, grace: float) -> None: ...
    def look(self, task_ids: Collection[str] | None) -> None: ...

    def pause(self, run_id: str, *, wanted: bool) -> bool:
        return True

    def recover(self, run_id: str, *, attempt: int) -> Found:
        return NotStarted(run_id=run_id, attempt=attempt)

    async def open(self) -> None: ...
    async def close(self) -> None: ...
