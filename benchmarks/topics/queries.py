"""Queries: what the command line and the loops ask most. A million tasks must not make them slower."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

from benchmarks.bench_home import BenchHome
from benchmarks.command import command, seconds
from benchmarks.figure import Bar, Figure
from benchmarks.large_store import HELD, WAITING, fill
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import microseconds, milliseconds
from errands.engine.engine import Engine
from errands.ports.store import Query

_FLAT = Bar(limit=3, at_most=True)
_COLD_STARTS = 10
_PATIENCE = 10.0  # seconds; a query that is far too slow shows it after a few calls

Question = Callable[[Engine], float]


def measure(scale: Scale) -> list[Table]:
    with ExitStack() as stack:
        benches = {size: stack.enter_context(BenchHome()) for size in scale.sizes}
        for size, bench in benches.items():
            fill(bench, size)
        engines = {size: bench.engine() for size, bench in benches.items()}
        figures = [
            _figure(what, _asked(question, engines, scale.questions)) for what, question in QUESTIONS.items()
        ]
        for engine in engines.values():
            engine.store.close()
        figures.append(_figure("errands ls, the whole command", _commanded(benches), milliseconds))
    sizes = " and ".join(f"{size:,}" for size in scale.sizes)
    return [
        Table(
            title=f"Queries among {sizes} tasks",
            figures=tuple(figures),
            notes=(
                f"Medians of up to {scale.questions} interleaved calls; a ratio is of the largest store to "
                f"the smallest. Each has {WAITING} queued and {WAITING} delayed tasks among the ended.",
            ),
        )
    ]


def _figure(what: str, spreads: dict[int, Spread], write: Callable[[float], str] = microseconds) -> Figure:
    *smaller, largest = spreads
    return Figure(
        what=what,
        value=f"{write(spreads[largest].middle)} at {largest:,}",
        beside=", ".join(f"{write(spreads[size].middle)} at {size:,}" for size in smaller),
        ratio=spreads[largest].middle / spreads[smaller[0]].middle,
        bar=_FLAT,
    )


def _asked(question: Question, engines: dict[int, Engine], count: int) -> dict[int, Spread]:
    taken: dict[int, list[float]] = {size: [] for size in engines}
    deadline = time.monotonic() + _PATIENCE
    for number in range(-5, count):
        for size, engine in engines.items():
            once = question(engine)
            if number >= 0:  # the first ones only fill the caches
                taken[size].append(once)
        if number >= 0 and time.monotonic() > deadline:
            break
    return {size: Spread(samples) for size, samples in taken.items()}


def _commanded(benches: dict[int, BenchHome]) -> dict[int, Spread]:
    taken: dict[int, list[float]] = {size: [] for size in benches}
    for _ in range(_COLD_STARTS):
        for size, bench in benches.items():
            taken[size].append(seconds(command("errands ls"), home=bench.home.path))
    return {size: Spread(samples) for size, samples in taken.items()}


class _UndoError(Exception):
    """Rolls a transaction back."""


@contextmanager
def _undone(engine: Engine) -> Iterator[None]:
    try:
        with engine.store:
            yield
            raise _UndoError
    except _UndoError:
        pass


def _newest(engine: Engine) -> float:
    began = time.perf_counter()
    engine.list(Query(limit=20))
    return time.perf_counter() - began


def _live(engine: Engine) -> float:
    began = time.perf_counter()
    engine.list(Query(states=("pending", "running"), limit=50))
    return time.perf_counter() - began


def _one(engine: Engine) -> float:
    task_id = engine.list(Query(limit=1))[0].id
    began = time.perf_counter()
    engine.get(task_id[:-1])
    return time.perf_counter() - began


def _counts(engine: Engine) -> float:
    began = time.perf_counter()
    engine.store.counts()
    return time.perf_counter() - began


def _due(engine: Engine) -> float:
    with _undone(engine):
        began = time.perf_counter()
        engine.store.release_due(now=datetime.now(UTC))
        return time.perf_counter() - began


def _next(engine: Engine) -> float:
    with _undone(engine):
        began = time.perf_counter()
        found = engine.store.claim(HELD, limit=1, now=datetime.now(UTC))
        taken = time.perf_counter() - began
    if len(found) != 1:
        raise RuntimeError("there was no next task, though many wait")
    return taken


def _left_running(engine: Engine) -> float:
    began = time.perf_counter()
    engine.store.running()
    return time.perf_counter() - began


def _expired(engine: Engine) -> float:
    now = datetime.now(UTC)
    began = time.perf_counter()
    engine.store.expired_tasks(before=now, limit=100)
    return time.perf_counter() - began


QUESTIONS: dict[str, Question] = {
    "ls: the newest 20": _newest,
    "ls: 50 live ones": _live,
    "show: one task by the beginning of its id": _one,
    "how many are in each state": _counts,
    "due: let delayed tasks in": _due,
    "next task: claim it": _next,
    "restart: what was left running": _left_running,
    "janitor: 100 expired tasks": _expired,
}
