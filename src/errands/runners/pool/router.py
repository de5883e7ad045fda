"""The router: starts each run in the warm or the plain pool, and remembers which one has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from errands.runners.pool.pool import ShimPool
from errands.runners.system import system
from errands.runners.warm.warm_pool import WarmPool

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import timedelta

    from errands.ports.runner import Found, Launch, Report, Runner


class Router:
    """Two pools behind one `Runner`; runs of an earlier daemon are recovered by the plain one."""

    def __init__(self, plain: ShimPool, warm: WarmPool) -> None:
        self._plain = plain
        self._warm = warm

    @property
    def listener(self) -> Callable[[Report], None]:
        return self._plain.listener

    @listener.setter
    def listener(self, listener: Callable[[Report], None]) -> None:
        self._plain.listener = self._warm.listener = listener

    async def open(self) -> None:
        await self._plain.open()
        await self._warm.open()

    async def close(self) -> None:
        await self._warm.close()
        await self._plain.close()

    def start(self, launch: Launch) -> None:
        (self._warm if launch.may_be_warm else self._plain).start(launch)

    def stop(self, run_id: str, *, grace: float) -> None:
        self._pool_of(run_id).stop(run_id, grace=grace)

    def pause(self, run_id: str, *, wanted: bool) -> bool:
        return self._pool_of(run_id).pause(run_id, wanted=wanted)

    def recover(self, run_id: str, *, attempt: int) -> Found:
        return self._pool_of(run_id).recover(run_id, attempt=attempt)

    def look(self, task_ids: Collection[str] | None) -> None:
        """Do nothing, as the pools."""

    def _pool_of(self, run_id: str) -> ShimPool:
        return self._warm if self._warm.knows(run_id) else self._plain


def make_runner(
    runs_dir: str, library: Callable[[], Sequence[str]], *, keep: timedelta | None, places: bool = False
) -> Runner:
    """Return the runner: with a warm pool if `keep` is set and forks can pass for new processes here.

    One that `places` leaves runs for other hosts to the fleet.
    """
    runner = _own_runner(runs_dir, library, keep)
    if not places:
        return runner
    from errands.runners.pool.fleet_runner import FleetRunner  # few homes belong to a fleet

    return FleetRunner(runner, runs_dir)


def _own_runner(runs_dir: str, library: Callable[[], Sequence[str]], keep: timedelta | None) -> Runner:
    plain = ShimPool(runs_dir)
    if keep is None or system.choose().NAME != "linux":
        return plain
    return Router(plain, WarmPool(runs_dir, library=library, cold=plain, keep=keep.total_seconds()))
