"""A burst: one round of one contender, in a process of its own.

The process adopts what its contender orphans, so that the processor time of all who had a part in it can be
added up: client, servers, supervisors and the commands themselves. Starting and stopping them is not counted.
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
from benchmarks.contenders import contender

_WARM_UP = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    about: str
    count: int
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        return self.count / self.seconds


def burst(name: str, count: int) -> Burst:
    """Let a contender run one burst in a fresh process and a fresh directory."""
    words = (sys.executable, "-m", "benchmarks.burst", name, str(count), tempfile.mkdtemp())
    os.sync()  # nobody shall pay for what another one left to be written
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    return Burst(**json.loads(done.stdout))


def main(name: str, count: int, directory: str) -> None:
    processes.adopt_orphans()
    one = contender(name, directory)
    about = one.open()
    try:
        one.burst(_WARM_UP)
        processes.reap()
        before, began = _cpu(), time.perf_counter()
        codes = one.burst(count)
        seconds = time.perf_counter() - began
        processes.reap()
        cpu = _cpu() - before
    finally:
        one.close()
    if codes != [0] * count:
        raise SystemExit(f"{name}: {count} times true gave {codes}")
    print(json.dumps(asdict(Burst(about=about, count=count, seconds=seconds, cpu=cpu))))


def _cpu() -> float:
    return processes.cpu(processes.tree(os.getpid()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
