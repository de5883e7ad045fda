"""The viewer: how soon it shows rows, how soon it answers a key, and what it takes, with much to show."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import sys
import time

import pexpect

import errands
from benchmarks import processes
from benchmarks.bench_home import BenchHome
from benchmarks.figure import Bar, Figure
from benchmarks.large_store import fill
from benchmarks.scale import Scale
from benchmarks.table import Table
from benchmarks.units import megabytes, milliseconds
from errands.model.options.draft import Draft

_TASKS = 10_000
_LINE = 1_000_000  # characters
_LOG = 10_000_000  # bytes, which is less than is kept
_WRITES = f"print('x' * {_LINE}); [print('line', n, '.' * 60) for n in range({(_LOG - _LINE) // 72})]"
_KEYS = 20
_SOON, _FAST, _SMALL = (
    Bar(limit=500, at_most=True, unit=" ms", is_goal=True),
    Bar(limit=50, at_most=True, unit=" ms", is_goal=True),
    Bar(limit=60, at_most=True, unit=" MB", is_goal=True),
)
_NOTICED, _RETURNED = (Bar(limit=limit, at_most=True, unit=" s", is_goal=True) for limit in (25, 2))


def measure(scale: Scale) -> list[Table]:
    with BenchHome() as bench:
        fill(bench, _TASKS)
        bench.start()
        task_id = asyncio.run(_logged(bench))
        lost = _lost(bench)
        listed = [_viewed("2", "10,0") for _ in range(scale.rounds)]
        logged = [_viewed("2" + "g" + "\r", task_id) for _ in range(scale.rounds)]
    figures = []
    for what, found in ((f"{_TASKS:,} tasks", listed), ("a log of 10 MB with a line of 1 MB", logged)):
        start, spent, key, memory = (statistics.median(each) for each in zip(*found, strict=True))
        figures += [
            Figure(
                what=f"the whole command until rows are drawn, {what}",
                value=milliseconds(start),
                beside=f"{milliseconds(spent)} of a processor",
                judged=start * 1e3,
                bar=_SOON,
            ),
            Figure(what=f"a key, {what}", value=milliseconds(key), judged=key * 1e3, bar=_FAST),
            Figure(what=f"RSS, {what}", value=megabytes(memory), judged=memory / 1e6, bar=_SMALL),
        ]
    return [
        Table(
            title="The viewer",
            figures=tuple(figures),
            notes=("On a pseudo-terminal of 80 x 24; a key is answered when the screen has changed.",),
        ),
        Table(title="The viewer when the daemon dies", figures=lost),
    ]


def _lost(bench: BenchHome) -> tuple[Figure, ...]:
    """Kill and stop the daemon; measure how soon the viewer says so, and is right again."""
    child, took = _started(), []
    try:
        child.expect("● live")
        for is_killed in (True, False):
            began = time.perf_counter()
            if is_killed:
                bench.stop(signal.SIGKILL)
            else:
                os.kill(bench.daemon, signal.SIGSTOP)
            child.expect("not live since")
            took.append(time.perf_counter() - began)
            if is_killed:
                bench.start()
            else:
                os.kill(bench.daemon, signal.SIGCONT)
            began = time.perf_counter()
            child.expect("● live")
            engine = bench.engine()
            task = engine.submit(Draft(command=f"exec sleep {600 + is_killed}"))
            child.expect(task.id)
            took.append(time.perf_counter() - began)
            engine.cancel([task.id])
            engine.close()
    finally:
        child.close(force=True)
    names = (
        ("kill -9 until it says that it is not live", _NOTICED),
        ("its return until a new task is shown live", _RETURNED),
        ("SIGSTOP until it says that it is not live", _NOTICED),
        ("SIGCONT until a new task is shown live", _RETURNED),
    )
    return tuple(
        Figure(what=what, value=f"{seconds:.2f} s", judged=seconds, bar=bar)
        for (what, bar), seconds in zip(names, took, strict=True)
    )


async def _logged(bench: BenchHome) -> str:
    """Run a task with much output; return its id."""
    async with errands.connect(bench.home.path, embedded=False, yes=True) as engine:
        task = await engine.submit((sys.executable, "-c", _WRITES))
        await engine.wait(task.id)
        return task.id


def _viewed(keys: str, shown: str) -> tuple[float, float, float, float]:
    """Start the viewer and press keys; return seconds and processor time until rows, of a key, and bytes."""
    began = time.perf_counter()
    child = _started()
    try:
        child.expect("Nothing is waiting for you|WAITING FOR YOU")
        start, spent = time.perf_counter() - began, processes.cpu([child.pid or 0])
        for key in keys:
            child.send(key)
            time.sleep(0.5)
        child.expect(shown)
        answers = [_answered(child, "j" if number % 2 else "k") for number in range(_KEYS)]
        answers += [_answered(child, "g" if number % 2 else "G") for number in range(_KEYS)]
        return start, spent, statistics.median(answers), _memory(child.pid or 0)
    finally:
        child.send("q")
        child.close(force=True)


def _started() -> pexpect.spawn[str]:
    child: pexpect.spawn[str] = pexpect.spawn(
        sys.executable,
        ["-m", "errands", "top"],
        env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"},
        dimensions=(24, 80),
        encoding="utf-8",
        codec_errors="replace",
        timeout=60,
    )
    child.delaybeforesend = None
    return child


def _answered(child: pexpect.spawn[str], key: str) -> float:
    """Press a key; return the seconds until the screen changes."""
    _drain(child)
    began = time.perf_counter()
    child.send(key)
    child.expect(".+")
    return time.perf_counter() - began


def _drain(child: pexpect.spawn[str]) -> None:
    """Read what the clock of the viewer still draws."""
    while True:
        try:
            child.read_nonblocking(65536, timeout=0.05)
        except pexpect.TIMEOUT:
            return


def _memory(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(float(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))
