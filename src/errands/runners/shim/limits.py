"""Limits of a run: memory, CPU time and processes, over its whole tree.

They are watched, not handed to the kernel: rlimits count per process or per user, break programs that
only reserve memory, and do not say which of them was exceeded.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from errands.runners.system.system import System

PERIOD = 0.02


class Limits:
    """Look at a tree now and then; say which limit it exceeds, and by what."""

    def __init__(
        self, system: System, *, memory: int | None, cpu: float | None, processes: int | None
    ) -> None:
        self.due = float("inf") if memory is cpu is processes is None else 0.0
        self._system = system
        self._memory = memory
        self._cpu = cpu
        self._processes = processes

    def exceeded(
        self, living: Callable[..., list[int]], *, cpu_before: float, now: float
    ) -> tuple[str, str] | None:
        """Name the limit that the living processes exceed, with what was seen of it."""
        self.due = now + PERIOD
        if self._processes is not None:
            # A fork bomb grows faster than it can be counted, so nobody counts to the end of it.
            count = len(living(most=self._processes * 2 + 50))
            if count > self._processes:
                return "processes", f"at least {count} processes, limit {self._processes}"
        if self._memory is None and self._cpu is None:
            return None
        pids = living()
        memory, cpu = self._system.usage(pids)
        if self._cpu is not None and cpu + cpu_before > self._cpu:
            return "cpu", f"{cpu + cpu_before:.2f} s of CPU time, limit {self._cpu:g} s"
        if self._memory is not None and memory > self._memory:
            # Processes that share memory were counted more than once; only now is it worth counting well.
            memory = self._system.memory(pids) or memory
            if memory > self._memory:
                return "memory", f"{memory / 2**20:,.0f} MiB, limit {self._memory / 2**20:,.0f} MiB"
        return None
