"""The web page in a real browser: how soon it shows much, how it scrolls, and what many pages cost."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time

import errands
from benchmarks.bench_home import BenchHome
from benchmarks.figure import Bar, Figure
from benchmarks.large_store import fill
from benchmarks.page.browser import LIST, LOG, Chromium, Seen
from benchmarks.page.server import Server
from benchmarks.page.streams import Heard, Readers
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import megabytes, milliseconds, times

_TASKS = 10_000
_LINE = 1_000_000  # characters
_LOG = 10_000_000  # bytes, which is less than is kept
_WRITES = f"print('x' * {_LINE}); [print('line', n, '.' * 60) for n in range({(_LOG - _LINE) // 72})]"
_WANTED = "line 99999"
_TABS, _TAKEOVERS = 12, 10
_STREAMS, _ENDS = 100, 200
_PACE = 0.05  # seconds between two tasks


def _memory(size: float) -> Figure:
    return Figure(what="RSS of the server", value=megabytes(size), judged=size / 1e6, bar=_at_most(60, " MB"))


def _at_most(limit: float, unit: str) -> Bar:
    return Bar(limit=limit, at_most=True, unit=unit)


def measure(scale: Scale) -> list[Table]:
    with BenchHome() as bench:
        fill(bench, _TASKS)
        bench.start()
        task = asyncio.run(_logged(bench))
        with Server() as server, Chromium(server) as browser:
            listed, logged = [], []
            for _ in range(scale.rounds):
                listed.append(browser.look("/tasks", LIST))
                logged.append(browser.look(f"/tasks/{task}", LOG, text=_WANTED))
            memory = server.memory()
            takeovers = [took for _ in range(scale.rounds) for took in browser.takeovers(_TABS, _TAKEOVERS)]
    lines = "a log of 10 MB with a line of 1 MB"
    figures = [
        *_views(f"{_TASKS + 1:,} tasks", listed, heap=20),
        Figure(
            what="rows in the document",
            value=str(max(each.elements for each in listed)),
            judged=max(each.elements for each in listed),
            bar=_at_most(80, ""),
        ),
        *_views(lines, logged, heap=30),
        _time("find a text in it", Spread([each.found for each in logged]), 150),
        _memory(memory),
        Figure(
            what="the page's own files, as they are sent",
            value=f"{listed[0].code / 1e3:.1f} kB",
            judged=listed[0].code / 1e3,
            bar=_at_most(60, " kB"),
        ),
        Figure(
            what=f"another of {_TABS} tabs reads the stream after its reader was closed, the slowest",
            value=Spread(takeovers).text(milliseconds),
            judged=max(takeovers) * 1e3,
            bar=_at_most(1000, " ms"),
        ),
    ]
    return [
        Table(
            title="The web page",
            figures=tuple(figures),
            notes=(
                f"Chromium, 1280 x 800, an empty cache; {scale.rounds} rounds, the median (least to most). "
                "A view is painted when its first rows are on the screen, counted from the navigation. "
                "The longest frame is that of all rounds of 240 frames each, 150 pixels a frame.",
            ),
        ),
        _many_pages(scale),
    ]


def _time(what: str, spread: Spread, limit: float) -> Figure:
    return Figure(
        what=what,
        value=spread.text(milliseconds),
        judged=spread.middle * 1e3,
        bar=_at_most(limit, " ms"),
    )


def _views(what: str, seen: list[Seen], *, heap: float) -> list[Figure]:
    frame = max(each.frame for each in seen)
    used = statistics.median(each.heap for each in seen)
    return [
        _time(f"painted, {what}", Spread([each.painted for each in seen]), 500),
        Figure(
            what=f"longest frame while scrolling, {what}",
            value=milliseconds(frame),
            judged=frame * 1e3,
            bar=_at_most(50, " ms"),
        ),
        Figure(
            what=f"heap of the page, {what}",
            value=megabytes(used),
            judged=used / 1e6,
            bar=_at_most(heap, " MB"),
        ),
    ]


async def _logged(bench: BenchHome) -> str:
    """Run a task with much output; return its id."""
    async with errands.connect(bench.home.path, embedded=False, yes=True) as engine:
        task = await engine.submit((sys.executable, "-c", _WRITES))
        await engine.wait(task.id)
        return task.id


def _many_pages(scale: Scale) -> Table:
    """Run tasks with and without many streams, in turns."""
    spent: dict[bool, list[float]] = {False: [], True: []}
    heard: list[Heard] = []
    with BenchHome() as bench:
        daemon = bench.start()
        asyncio.run(_run(bench, 20))
        with Server() as server:
            for _ in range(scale.rounds):
                for is_watched in (False, True):
                    readers = Readers(server, _STREAMS, _ENDS) if is_watched else None
                    before = _own_cpu(daemon)
                    asyncio.run(_run(bench, _ENDS))
                    if readers is not None:
                        heard.append(readers.heard())
                    spent[is_watched].append(_own_cpu(daemon) - before)
            memory = server.memory()
    seconds = Spread([each for found in heard for each in found.seconds] or [float("inf")])
    missed, again = sum(each.missed for each in heard), sum(each.again for each in heard)
    watched, alone = Spread(spent[True]), Spread(spent[False])
    ratios = watched.over(alone)
    return Table(
        title=f"{_STREAMS} pages and {_ENDS} ends of tasks",
        figures=(
            Figure(
                what="ends that a page did not hear of", value=str(missed), judged=missed, bar=_at_most(0, "")
            ),
            Figure(
                what="from an end to a page, p99",
                value=f"{milliseconds(seconds.percentile(99))} (p50 {milliseconds(seconds.middle)})",
                judged=seconds.percentile(99) * 1e3,
                bar=_at_most(100, " ms"),
            ),
            Figure(
                what="the daemon's own processor time, watched",
                value=watched.text(milliseconds),
                beside=f"unwatched {alone.text(milliseconds)}",
                ratio=ratios.middle,
                ratio_text=ratios.text(times),
                bar=_at_most(1.05, "x"),
            ),
            Figure(
                what="RSS of the server",
                value=megabytes(memory),
                judged=memory / 1e6,
                bar=_at_most(60, " MB"),
            ),
        ),
        notes=(
            f"{scale.rounds} rounds; a task every {_PACE * 1e3:g} ms. "
            "An end counts only if an event names its task; "
            f"{again:,} events told a page to read everything again instead.",
        ),
    )


async def _run(bench: BenchHome, count: int) -> None:
    """Run short tasks at an even pace, to their ends."""
    async with errands.connect(bench.home.path, embedded=False, yes=True) as engine:
        began = time.perf_counter()
        tasks = []
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number * _PACE - time.perf_counter()))
            tasks.append(await engine.submit(("true",)))
        await engine.wait_all([task.id for task in tasks])


def _own_cpu(pid: int) -> float:
    """Return the processor time of a process itself, without its children, in seconds."""
    return time.clock_gettime(~pid << 3 | 2)
