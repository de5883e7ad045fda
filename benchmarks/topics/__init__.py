"""Topics: what is measured; each returns its tables."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.scale import Scale
from benchmarks.table import Table

NAMES = (
    "throughput", "latency", "walls", "memory", "capture", "start", "queries", "queue", "agents", "mcp",
    "schedules", "top", "page", "live", "hosts",
)  # fmt: skip


def measure(name: str, scale: Scale) -> list[Table]:
    """Measure one topic."""
    act: Callable[[Scale], list[Table]] = __import__(f"{__name__}.{name}", fromlist=["measure"]).measure
    return act(scale)
