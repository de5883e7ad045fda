"""Live: how soon a watcher in another process hears of each kind of change, what that costs, and a scrape."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import errands
from benchmarks import processes
from benchmarks.bench_home import BenchHome
from benchmarks.contenders import SLOTS
from benchmarks.figure import Bar, Figure
from benchmarks.large_store import fill
from benchmarks.paired import difference, in_turns
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import microseconds, milliseconds, rate
from errands import bootstrap
from errands.engine.engine import Engine
from errands.engine.live.metrics import families, text
from errands.model.options.draft import Draft
from errands.model.view import View

_AT_ONCE = Bar(limit=100, at_most=True, unit=" ms")
_MOST_RUNS = 100_000
_PARTS = 4  # of a burst: short ones that take turns suffer alike from whatever disturbs the machine


def measure(scale: Scale) -> list[Table]:
    return [
        Table(
            title="From a change to a watcher in another process",
            figures=tuple(
                Figure(
                    what=f"{what}, p99",
                    value=f"{milliseconds(spread.percentile(99))} (p50 {milliseconds(spread.middle)})",
                    judged=spread.percentile(99) * 1e3,
                    bar=_AT_ONCE,
                )
                for what, spread in _heard(scale.latency_samples).items()
            ),
            notes=(f"{scale.latency_samples} of each, one after the other, through the daemon.",),
        ),
        Table(
            title="The cost of being watched, and of metrics",
            figures=(*_costs(scale), _scrape(scale)),
            notes=(
                f"Ratios are the medians of {scale.pairs} pairs, measured in turns in {_PARTS} parts, with "
                "the interval that holds the true one with a probability of 95 %; its worse end is judged.",
            ),
        ),
    ]


class _Watcher:
    """Another process that listens between `listen` and `stop`, and prints when it heard which names."""

    def __init__(self, *, is_silent: bool = False) -> None:
        words = (sys.executable, "-m", __name__, *(["silent"] if is_silent else []))
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._lines = self._process.stdin, self._process.stdout
        self._has("ready")

    def listen(self) -> None:
        self._orders.write("listen\n")
        self._has("live")

    def stop(self) -> None:
        self._orders.write("stop\n")
        self._has("ready")

    def _has(self, word: str) -> None:
        if (line := self._lines.readline()) != f"{word}\n":
            raise ChildProcessError(f"the watcher should say {word!r}, and said {line!r}")

    def cpu(self) -> float:
        return processes.cpu([self._process.pid])

    def heard(self, task_id: str, since: int) -> float:
        """Return the seconds from a time to the first change after it that names a task."""
        for line in self._lines:
            at, *names = line.split()
            if int(at) >= since and task_id in names:
                return (int(at) - since) / 1e9
        raise EOFError("the watcher has ended")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def _heard(count: int) -> dict[str, Spread]:
    """Make every change so often; nothing can start, so that only the change itself is heard."""
    samples: dict[str, list[float]] = {}
    with BenchHome(lanes_shell="0", lanes_busy="1") as bench:
        bench.start()
        asking, engine = bootstrap.open_engine(bench.home), bench.engine()
        watcher = _Watcher()
        watcher.listen()

        def timed(what: str, act: Callable[[], View | list[str]], task_id: str = "") -> str:
            began = time.time_ns()
            done = act()
            task_id = task_id or (done.id if isinstance(done, View) else "")
            samples.setdefault(what, []).append(watcher.heard(task_id, began))
            return task_id

        steps = f"{bench.directory}/steps"
        reporter = _reporter(engine, steps)
        for number in range(count):
            task_id = timed("submit into a full lane", partial(engine.submit, Draft(command=("true",))))
            timed("pause", partial(engine.queue.pause, task_id))
            engine.cancel([task_id])
            watcher.heard(task_id, 0)
            timed("clear", partial(engine.clear, [task_id]), task_id)
            removal = Draft(command=("rm", f"{bench.directory}/{number}"))
            task_id = timed("proposal", partial(asking.submit, removal))
            timed("approval", partial(asking.approve, task_id, by="ada", door="terminal"))
            began = time.time_ns()
            _step(reporter.latest.output_file.rpartition("/")[0], number)
            samples.setdefault("progress", []).append(watcher.heard(reporter.id, began))
        watcher.close()
        engine.cancel([reporter.id])
        for each in (asking, engine):
            each.close()
    return {what: Spread(found) for what, found in samples.items()}


def _reporter(engine: Engine, steps: str) -> View:
    """Start a task that runs until it is cancelled, and wait until it does."""
    task = engine.submit(Draft(command=f"touch {steps}; exec sleep 3600", lane="busy"))
    while engine.view(task.id).latest.state != "running":
        time.sleep(0.01)
    return engine.view(task.id)


def _step(directory: str, number: int) -> None:
    """Report progress as a task does: through the file that its environment names."""
    with open(f"{directory}/progress", "w") as file:
        file.write(f"{number} of 1000\n")


@dataclass(frozen=True, slots=True)
class _Burst:
    """Seconds of the clock, of the processors that client, daemon and commands used, and of the watcher's."""

    seconds: float
    cpu: float
    watching: float

    @classmethod
    def whole(cls, parts: Iterable[_Burst]) -> _Burst:
        return cls(*map(sum, zip(*((each.seconds, each.cpu, each.watching) for each in parts), strict=True)))


def _costs(scale: Scale) -> tuple[Figure, ...]:
    """Run short tasks with and without a watcher, in turns."""
    count = scale.watched_tasks
    with BenchHome(lanes_shell=str(SLOTS)) as bench:
        daemon = bench.start()
        watcher = _Watcher(is_silent=True)

        def burst() -> _Burst:
            watching, cpu = watcher.cpu(), time.process_time() + processes.cpu(processes.tree(daemon))
            seconds = asyncio.run(_burst(bench.home.path, count // _PARTS))
            spent = time.process_time() + processes.cpu(processes.tree(daemon)) - cpu
            return _Burst(seconds, spent, watcher.cpu() - watching)

        def unwatched_burst() -> _Burst:
            watcher.listen()  # so that both sides begin after the same pause
            watcher.stop()
            return burst()

        def watched_burst() -> _Burst:
            watcher.listen()
            found = burst()
            watcher.stop()
            return found

        for warm_up in (unwatched_burst, watched_burst):
            warm_up()
        parts = in_turns(_PARTS * scale.pairs, unwatched_burst, watched_burst)
        watcher.close()
    alone, watched = (
        [_Burst.whole(side[start : start + _PARTS]) for start in range(0, len(side), _PARTS)]
        for side in zip(*parts, strict=True)
    )
    pairs = list(zip(alone, watched, strict=True))
    speed = difference([one.seconds / other.seconds for one, other in pairs])
    cpu = difference([other.cpu / one.cpu for one, other in pairs])
    return (
        Figure(
            what=f"{count:,} x true, watched",
            value=Spread([count / each.seconds for each in watched]).text(rate),
            beside=f"unwatched {Spread([count / each.seconds for each in alone]).text(rate)}",
            ratio=speed.middle,
            ratio_text=str(speed),
            judged=speed.low,
            bar=Bar(limit=0.98, is_goal=True),
        ),
        Figure(
            what="its processor time per task, without that of the watcher",
            value=microseconds(Spread([each.cpu / count for each in watched]).middle),
            beside=f"unwatched {microseconds(Spread([each.cpu / count for each in alone]).middle)}",
            ratio=cpu.middle,
            ratio_text=str(cpu),
            judged=cpu.high,
            bar=Bar(limit=1.02, at_most=True, is_goal=True),
        ),
        Figure(
            what="the watcher's own processor time per task",
            value=microseconds(Spread([each.watching / count for each in watched]).middle),
        ),
    )


async def _burst(home: str, count: int) -> float:
    """Run short tasks; return the seconds from their submission to the end of the last one."""
    async with errands.connect(home, embedded=False, yes=True) as engine:
        began = time.perf_counter()
        views = await engine.submit_all([Draft(command=("true",))] * count)
        await engine.wait_all([view.id for view in views])
        return time.perf_counter() - began


def _scrape(scale: Scale) -> Figure:
    size = max(each for each in scale.sizes if each <= _MOST_RUNS)
    with BenchHome() as bench:
        fill(bench, size)
        engine = bench.engine()
        took = []
        for _ in range(scale.questions):
            began = time.perf_counter()
            text(families(engine))
            took.append(time.perf_counter() - began)
        engine.close()
    spread = Spread(took)
    return Figure(
        what=f"a scrape of {size:,} runs",
        value=f"{milliseconds(spread.middle)} (p99 {milliseconds(spread.percentile(99))})",
        judged=spread.middle * 1e3,
        bar=Bar(limit=20, at_most=True, unit=" ms"),
    )


async def _watch(*, is_silent: bool) -> None:
    """Be the watcher: print the time and the names of every change, unless nobody reads them."""
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), sys.stdin
    )
    engine = bootstrap.open_engine()
    listening: asyncio.Task[None] | None = None
    print("ready", flush=True)
    while order := await orders.readline():
        if order == b"listen\n":
            listening = asyncio.create_task(_listen(engine, is_silent=is_silent))
        elif listening is not None:
            listening.cancel()
            await asyncio.wait([listening])
            print("ready", flush=True)


async def _listen(engine: Engine, *, is_silent: bool) -> None:
    async with engine.changes() as changes:
        async for change in changes:
            if changes.not_live_since is None and change.is_everything:
                print("live", flush=True)
                break
        async for change in changes:
            if not is_silent:
                print(time.time_ns(), *change.tasks, *change.grown, flush=True)


if __name__ == "__main__":
    asyncio.run(_watch(is_silent=sys.argv[1:] == ["silent"]))
