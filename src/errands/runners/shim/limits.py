"""Limits of a run over its whole process tree, as a table: how each is measured and reported.

The shim watches them instead of setting rlimits, which count per process or per user, break programs that
only reserve memory, and do not say which one was exceeded.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from errands.runners.system.system import System

PERIOD = 0.02  # seconds between two measurements


class NoFuse:
    """Stand in for the `Fuse` of runs without one: they need no contact with a fleet."""

    due = float("inf")

    def look(self, now: float) -> bool:
        return False

    def wait(self, most: float | None) -> float | None:
        return most


class Measurement:
    """One measurement of the tree of a run; values that several limits need are read once."""

    def __init__(self, system: System, living: Callable[..., list[int]], *, cpu_before: float) -> None:
        self.system = system
        self.living = living
        self.cpu_before = cpu_before
        self._pids: list[int] = []
        self._usage: tuple[int, float] | None = None

    def usage(self) -> tuple[int, float]:
        """Return the memory (bytes) and the CPU time (seconds) of the living processes."""
        if self._usage is None:
            self._pids = self.living()
            self._usage = self.system.usage(self._pids)
        return self._usage

    def exact_memory(self) -> int:
        """Return the memory (bytes) of the processes that `usage` measured; 0 if that is unknown."""
        return self.system.memory(self._pids)


def _processes(measured: Measurement, limit: float) -> float:
    # A fork bomb grows faster than it can be counted, so the count stops well beyond the limit.
    return len(measured.living(most=int(limit) * 2 + 50))


def _cpu(measured: Measurement, limit: float) -> float:
    return measured.usage()[1] + measured.cpu_before


def _memory(measured: Measurement, limit: float) -> float:
    value = measured.usage()[0]
    # Shared memory was counted for each process; an exact count is slow, so it waits until now.
    return measured.exact_memory() or value if value > limit else value


# By name, in the order of checking: how it is measured, its unit, and the message when it is exceeded.
LIMITS: dict[str, tuple[Callable[[Measurement, float], float], float, str]] = {
    "processes": (_processes, 1, "at least {:.0f} processes, limit {:.0f}"),
    "cpu": (_cpu, 1, "{:.2f} s of CPU time, limit {:g} s"),
    "memory": (_memory, 2**20, "{:,.0f} MiB, limit {:,.0f} MiB"),
}


class Limits:
    """Measure a tree every PERIOD and return the limit that it exceeds."""

    def __init__(self, system: System, limits: Mapping[str, float]) -> None:
        self.due = 0.0 if limits else float("inf")
        self._system = system
        self._limits = limits

    def exceeded(
        self, living: Callable[..., list[int]], *, cpu_before: float, now: float
    ) -> tuple[str, str] | None:
        """Return the name of the limit that the living processes exceed, and a message with the value."""
        self.due = now + PERIOD
        measured = Measurement(self._system, living, cpu_before=cpu_before)
        for name, (measure, unit, text) in LIMITS.items():
            limit = self._limits.get(name)
            if limit is not None and (value := measure(measured, limit)) > limit:
                return name, text.format(value / unit, limit / unit)
        return None
