"""Latency on an idle queue: how long until a task starts, and until a waiter knows of its end.

`date` says when it ran; its own start is part of what is measured, for us and for the peers alike.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time

import errands
from benchmarks.bench_home import BenchHome
from benchmarks.contenders import SLOTS
from benchmarks.contenders.spooler import Spooler
from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import milliseconds
from errands.engine.async_engine import AsyncEngine

_STARTS = ("date", "+%s%N")
# Long enough for every waiter to be waiting by its end.
_ENDS = ("sh", "-c", "sleep 0.03; exec date +%s%N")
_OURS, _POPEN, _SPOOLER = "errands", "subprocess.Popen", "task-spooler"

Samples = dict[str, list[float]]


def measure(scale: Scale) -> list[Table]:
    starts, ends, answers = asyncio.run(_samples(scale.latency_samples))
    start = {name: Spread(samples) for name, samples in starts.items()}
    end = {name: Spread(samples) for name, samples in ends.items()}
    answer = {name: Spread(samples) for name, samples in answers.items()}
    return [
        Table(
            title="Latency on an idle queue",
            figures=(
                _beside("submit to start", start, _POPEN, Bar(limit=2, at_most=True, is_goal=True)),
                _beside("submit to start", start, _SPOOLER, Bar(limit=1, at_most=True, is_goal=True)),
                _beside("end to waiter", end, _POPEN, None),
                _beside("end to waiter", end, _SPOOLER, None),
                Figure(
                    what="end to waiter, p99",
                    value=milliseconds(end[_OURS].percentile(99)),
                    judged=end[_OURS].percentile(99) * 1e3,
                    bar=Bar(limit=5, at_most=True, unit=" ms", is_goal=True),
                ),
                Figure(
                    what="answer to submit, p50",
                    value=_both(answer[_OURS]),
                    beside=f"{_SPOOLER} {_both(answer[_SPOOLER])}",
                    judged=answer[_OURS].middle * 1e3,
                    bar=Bar(limit=1, at_most=True, unit=" ms", is_goal=True),
                ),
            ),
            notes=(
                f"{scale.latency_samples} interleaved samples each, p50 / p99; a ratio is of the two p50.",
                "subprocess.Popen is the floor: the same command, started and awaited in this very process.",
            ),
        )
    ]


def _beside(what: str, spreads: dict[str, Spread], peer: str, bar: Bar | None) -> Figure:
    return Figure(
        what=what,
        value=_both(spreads[_OURS]),
        beside=f"{peer} {_both(spreads[peer])}",
        ratio=spreads[_OURS].middle / spreads[peer].middle,
        bar=bar,
    )


def _both(spread: Spread) -> str:
    return f"{milliseconds(spread.middle)} / {milliseconds(spread.percentile(99))}"


async def _samples(count: int) -> tuple[Samples, Samples, Samples]:
    names = (_OURS, _POPEN, _SPOOLER)
    starts: Samples = {name: [] for name in names}
    ends: Samples = {name: [] for name in names}
    answers: Samples = {name: [] for name in names}
    with BenchHome(lanes_shell=str(SLOTS)) as bench:
        bench.start()
        spooler = Spooler(tempfile.mkdtemp())
        spooler.open()
        async with errands.connect(bench.home.path, embedded=False, yes=True) as engine:
            for number in range(-5, count):
                for name in names:
                    started, answered, _ = await _one(name, engine, spooler, _STARTS)
                    _, _, ended = await _one(name, engine, spooler, _ENDS)
                    if number >= 0:  # the first ones only warm everything up
                        starts[name].append(started)
                        answers[name].append(answered)
                        ends[name].append(ended)
        spooler.close()
    return starts, ends, answers


async def _one(
    name: str, engine: AsyncEngine, spooler: Spooler, words: tuple[str, ...]
) -> tuple[float, float, float]:
    """Run a command; return the seconds to `date`, to the submit's answer, and from `date` to the waiter."""
    before = time.time_ns()
    match name:
        case "errands":
            view = await engine.submit(words)
            answered = time.time_ns()
            await engine.wait(view.id)
            woken = time.time_ns()
            said = (await engine.output(view.id)).content
        case "task-spooler":
            number = spooler.ask(*words).strip()
            answered = time.time_ns()
            spooler.ask("-w", number)
            woken = time.time_ns()
            with open(spooler.ask("-o", number).strip(), "rb") as file:
                said = file.read()
        case _:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
            answered = time.time_ns()
            process.wait()
            woken = time.time_ns()
            said, _ = process.communicate()
    ran = int(said)
    return (ran - before) / 1e9, (answered - before) / 1e9, (woken - ran) / 1e9
