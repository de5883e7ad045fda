"""A burst: one round of one contender, in its own process.

It adopts the orphans of its contender, so that the processor time of everything involved can be added
up: client, servers, supervisors and the commands themselves. Starting and stopping them is not counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

from benchmarks import processes
from benchmarks.cases import CASES
from benchmarks.contenders import contender

_WARM_UP = 20
# Who takes processor time: this process, what it started, what that started, and all that has ended.
PARTS = ("client", "server", "supervisors", "commands")


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    about: str
    count: int
    seconds: float
    shares: list[float]  # of the processor time, as in PARTS

    @property
    def cpu(self) -> float:
        return sum(self.shares)

    @property
    def rate(self) -> float:
        return self.count / self.seconds


def burst(name: str, case: str, count: int, *, python: str = sys.executable) -> Burst:
    """Let a contender run the commands of a case in a fresh process and a fresh directory."""
    words = (python, "-m", "benchmarks.burst", name, case, str(count), tempfile.mkdtemp())
    os.sync()  # each contender pays only for its own writes
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    return Burst(**json.loads(done.stdout))


def main(name: str, case: str, count: int, directory: str) -> None:
    processes.adopt_orphans()
    commands = CASES[case].commands(_WARM_UP + count)
    one = contender(name, directory)
    about = one.open()
    try:
        one.burst(commands[:_WARM_UP])
        processes.reap()
        before, began = _cpu(), time.perf_counter()
        codes = one.burst(commands[_WARM_UP:])
        seconds = time.perf_counter() - began
        processes.reap()
        shares = [after - each for after, each in zip(_cpu(), before, strict=True)]
        last = one.last_output()
    finally:
        one.close()
    if codes != [0] * count:
        raise SystemExit(f"{name}: {count} x {commands[-1]} gave {codes}")
    if last != CASES[case].output(_WARM_UP + count - 1):
        raise SystemExit(f"{name}: the log of {commands[-1]} has {last!r}")
    print(json.dumps(asdict(Burst(about=about, count=count, seconds=seconds, shares=shares))))


def _cpu() -> list[float]:
    found = [0.0] * len(PARTS)
    for pid, generation in processes.tree(os.getpid()).items():
        own, ended = processes.times(pid)
        found[min(generation, 2)] += own
        found[3] += ended
    return found


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
