"""Capture: how fast output goes through cap and scan into the log, and how much disk it takes at most."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time

import errands
from benchmarks.bench_home import BenchHome
from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import megabytes, speed, times
from errands.engine.async_engine import AsyncEngine

_LINE = b"cc -O2 -Wall -Wextra -std=c17 -Iinclude -c -o build/parser.o source/parser.c    \n"
_CAP = 10 << 20
_FASTEST = Bar(limit=500, unit=" MB/s")

Command = tuple[str, ...]


def measure(scale: Scale) -> list[Table]:
    with BenchHome() as bench:
        bench.start()
        return asyncio.run(_measure(bench, scale))


async def _measure(bench: BenchHome, scale: Scale) -> list[Table]:
    commands = _producers(bench.directory, scale.output)
    figures = []
    async with errands.connect(bench.home.path, embedded=False, yes=True) as engine:
        for what, command in commands.items():
            ours, limit = [], []
            for _ in range(scale.rounds):
                ours.append(scale.output / await _captured(engine, command, scale.output))
                limit.append(scale.output / _discarded(command))
            figures.append(_speed(what, Spread(ours), Spread(limit)))
        figures.append(await _disk_use(engine, scale.yes_seconds))
    return [
        Table(
            title=f"Capture of {scale.output >> 20:,} MiB of output, cap {_CAP >> 20} MiB",
            figures=tuple(figures),
            notes=(
                f"Median of {scale.rounds} interleaved rounds, from submit to the waiter. The limit is the "
                "same command piped into `cat >/dev/null`, which keeps and scans nothing.",
            ),
        )
    ]


def _producers(directory: str, size: int) -> dict[str, Command]:
    """Return commands that write a number of bytes to standard output as fast as possible."""
    lines = f"{directory}/lines"
    with open(lines, "wb") as file:
        block = (_LINE * (1 + (1 << 20) // len(_LINE)))[: 1 << 20]
        for _ in range(min(64, size >> 20)):
            file.write(block)
    return {
        "lines of 80 columns": ("cat", *[lines] * (size // os.stat(lines).st_size)),
        "zeros without a line end": ("head", "-c", str(size), "/dev/zero"),
        "a line end every 2 bytes": ("sh", "-c", f"yes | head -c {size}"),
    }


def _speed(what: str, ours: Spread, limit: Spread) -> Figure:
    ratios = ours.over(limit)
    return Figure(
        what=what,
        value=ours.text(speed),
        beside=f"limit {limit.text(speed)}",
        ratio=ratios.middle,
        ratio_text=ratios.text(times),
        judged=ours.middle / 1e6,
        bar=None if what.startswith("a line end") else _FASTEST,
    )


async def _captured(engine: AsyncEngine, command: Command, size: int) -> float:
    began = time.perf_counter()
    view = await engine.wait((await engine.submit(command)).id)
    seconds = time.perf_counter() - began
    if view.latest.bytes != size:
        raise RuntimeError(f"{view.command} wrote {size} bytes and {view.latest.bytes} were seen")
    await engine.clear(view.id)
    return seconds


def _discarded(command: Command) -> float:
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as producer:
        subprocess.run(("cat",), stdin=producer.stdout, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


async def _disk_use(engine: AsyncEngine, seconds: float) -> Figure:
    """Run `yes` and keep measuring how much disk its run takes."""
    view = await engine.submit(("yes",), timeout=seconds, grace=1.0)
    directory = os.path.dirname(view.latest.output_file)
    waiting = asyncio.create_task(engine.wait(view.id))
    most = looks = 0
    while not waiting.done():
        most = max(most, _allocated(directory))
        looks += 1
        await asyncio.sleep(0.001)
    view = await waiting
    most = max(most, _allocated(directory))
    return Figure(
        what=f"largest disk use under `yes` in {looks:,} looks, {megabytes(view.latest.bytes)} written",
        value=megabytes(most),
        beside=f"cap {megabytes(_CAP)}",
        ratio=most / _CAP,
        bar=Bar(limit=1.1, at_most=True),
    )


def _allocated(directory: str) -> int:
    total = 0
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                try:
                    total += entry.stat().st_blocks * 512
                except FileNotFoundError:
                    continue
    except FileNotFoundError:
        return 0
    return total
