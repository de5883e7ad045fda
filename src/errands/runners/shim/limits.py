"""Limits of a run over its whole tree, as a table: how each is measured, and what is said of it.

They are watched, not handed to the kernel: rlimits count per process or per user, break programs that
only reserve memory, and do not say which of them was exceeded.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from errands.runners.system.system import System

PERIOD = 0.02  # seconds between two looks


class Look:
    """One look at the tree of a run; what several limits need is read once."""

    def __init__(self, system: System, living: Callable[..., list[int]], *, cpu_before: float) -> None:
        self.system = system
        self.living = living
        self.cpu_before = cpu_before
        self._pids: list[int] | None = None
        self._usage = (0, 0.0)

    @property
    def pids(self) -> list[int]:
        self.usage()
        return self._pids or []

    def usage(self) -> tuple[int, float]:
        """Return the memory (bytes) and the CPU time (seconds) of the living processes."""
        if self._pids is None:
            self._pids = self.living()
            self._usage = self.system.usage(self._pids)
        return self._usage


def _processes(look: Look, limit: float) -> float:
    # A fork bomb grows faster than it can be counted, so the count stops well beyond the limit.
    return len(look.living(most=int(limit) * 2 + 50))


def _cpu(look: Look, limit: float) -> float:
    return look.usage()[1] + look.cpu_before


def _memory(look: Look, limit: float) -> float:
    seen = look.usage()[0]
    # Memory that processes share was counted for each of them; only now is it worth counting well.
    return look.system.memory(look.pids) or seen if seen > limit else seen


# By name: how it is measured, its unit, and what is said of a run that exceeds it; in the order of looking.
LIMITS: dict[str, tuple[Callable[[Look, float], float], float, str]] = {
    "processes": (_processes, 1, "at least {:.0f} processes, limit {:.0f}"),
    "cpu": (_cpu, 1, "{:.2f} s of CPU time, limit {:g} s"),
    "memory": (_memory, 2**20, "{:,.0f} MiB, limit {:,.0f} MiB"),
}


class Limits:
    """Look at a tree now and then; say which limit it exceeds, and by what."""

    def __init__(self, system: System, limits: Mapping[str, float]) -> None:
        self.due = 0.0 if limits else float("inf")
        self._system = system
        self._limits = limits

    def exceeded(
        self, living: Callable[..., list[int]], *, cpu_before: float, now: float
    ) -> tuple[str, str] | None:
        """Return the name of the limit that the living processes exceed, and what was seen of it."""
        self.due = now + PERIOD
        look = Look(self._system, living, cpu_before=cpu_before)
        for name, (measure, unit, text) in LIMITS.items():
            limit = self._limits.get(name)
            if limit is not None and (seen := measure(look, limit)) > limit:
                return name, text.format(seen / unit, limit / unit)
        return None
