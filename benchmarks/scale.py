"""The scale of a run: full for results, quick to show within a minute that everything works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    rounds: int = 5
    bursts: int = 9
    tasks: int = 400
    latency_samples: int = 200
    sleeps: int = 100
    idle_seconds: float = 12.0
    output: int = 1 << 30
    yes_seconds: float = 3.0
    starts: int = 40
    sizes: tuple[int, ...] = (1_000, 100_000, 1_000_000)
    questions: int = 300
    queued: int = 10_000
    pairs: int = 60
    watched_tasks: int = 1_000


FULL = Scale()
QUICK = Scale(
    rounds=2,
    bursts=2,
    tasks=100,
    latency_samples=15,
    sleeps=20,
    idle_seconds=3.0,
    output=1 << 27,
    yes_seconds=1.0,
    starts=5,
    sizes=(1_000, 20_000),
    questions=50,
    queued=500,
    pairs=2,
    watched_tasks=100,
)
