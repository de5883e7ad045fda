"""Warm starts: how soon a task of the built-in agent asks its model, cold and warm, and what that costs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import processes
from benchmarks.bench_home import BenchHome
from benchmarks.figure import Bar, Figure
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import megabytes, milliseconds, times
from errands.engine.engine import Engine
from errands.engine.waiting import wait
from errands.model.options.draft import Draft
from tests.model_server import ModelServer

_PATIENCE = 60.0
_AT_ONCE = 4  # as many as the lane has room for
_SERVES = 6  # files that a zygote has open once it serves


def measure(count: int) -> Table:
    with ModelServer() as model, BenchHome(agents_warm="none") as plain, _configured(plain, model.openai_url):
        plain.start()
        with BenchHome(agents_warm="10m") as warm:
            daemon = warm.start()
            engines = plain.engine(), warm.engine()
            for engine in engines:
                _launch(engine, model)
            _wait_for(lambda: _is_ready(daemon), "the library to be loaded")
            samples = [[_launch(engine, model) for engine in engines] for _ in range(count)]
            cold, forked = (Spread(each) for each in zip(*samples, strict=True))
            _wait_for(lambda: len(_warm(daemon)) == 1, "idle shims to leave")
            zygote = _warm(daemon)
            idle = processes.pss(zygote)
            cold_size, warm_size = _sizes(engines[0], model, []), _sizes(engines[1], model, zygote) - idle
            for engine in engines:
                engine.close()
    ratios = cold.over(forked)
    return Table(
        title="Warm starts of the built-in agent",
        figures=(
            Figure(
                what="submit of a task to its first request, warm",
                value=forked.text(milliseconds),
                beside=f"cold {cold.text(milliseconds)}",
                ratio=ratios.middle,
                ratio_text=ratios.text(times),
                bar=Bar(limit=5, aim=10),
            ),
            Figure(
                what=f"PSS that each of {_AT_ONCE} running tasks adds, its shim included, warm",
                value=megabytes(warm_size / _AT_ONCE),
                beside=f"cold {megabytes(cold_size / _AT_ONCE)}",
                ratio=cold_size / warm_size,
            ),
            Figure(what="PSS of the idle process that has the library", value=megabytes(idle)),
        ),
        notes=(
            f"Median of {count} interleaved tasks, under a daemon each; a ratio is cold over warm. "
            "PSS divides pages among all who share them; the idle process is counted apart.",
        ),
    )


@contextmanager
def _configured(bench: BenchHome, url: str) -> Iterator[None]:
    """Configure the model for both daemons and all their tasks."""
    folder = Path(bench.directory) / "config" / "errands"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f'[agents.builtin]\nmodel = "fake"\nurl = "{url}"\nlane = "agent"\n')
    os.environ["XDG_CONFIG_HOME"] = str(folder.parent)  # `BenchHome` puts the old one back
    yield


def _launch(engine: Engine, model: ModelServer) -> float:
    """Return the seconds from a submit to the request, once the task has ended."""
    began = time.monotonic()
    task = engine.submit(Draft(prompt="hello", agent="builtin"))
    left = wait(engine, [task.id], timeout=_PATIENCE)
    if left or engine.get(task.id).state != "completed":
        raise RuntimeError(f"the agent did not answer: {engine.get(task.id).latest.error}")
    return model.asked[-1].at - began


def _sizes(engine: Engine, model: ModelServer, others: list[int]) -> int:
    """Return the bytes that tasks take while waiting for their model, with shims and the given processes."""
    before = len(model.asked)
    tasks = [engine.submit(Draft(prompt="SLOW 600", agent="builtin")).id for _ in range(_AT_ONCE)]
    _wait_for(lambda: len(model.asked) == before + _AT_ONCE, "all to ask")
    agents = [engine.store.view(task).latest.pid or 0 for task in tasks]
    size = processes.pss([*agents, *map(_parent, agents), *others])
    engine.cancel(tasks, by="the benchmark")
    wait(engine, tasks, timeout=_PATIENCE)
    return size


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


def _warm(daemon: int) -> list[int]:
    """Return the processes that have loaded the library, except the agents themselves."""
    found = []
    for pid in processes.tree(daemon):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"\0errands.runners.warm.warm_zygote\0" in words:
            found.append(pid)
    return found


def _is_ready(daemon: int) -> bool:
    return any(len(os.listdir(f"/proc/{pid}/fd")) >= _SERVES for pid in _warm(daemon))


def _wait_for(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {_PATIENCE:g} s in vain for {what}")
        time.sleep(0.05)
