"""huey on SQLite: a consumer process with threads, submitted by a call in a warm process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.cases import Words
from benchmarks.contenders import SLOTS

_LOOK = 0.005  # seconds between two looks whether all results are there
_SYNCHRONOUS = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}


class Hueys:
    """The consumer polls every 10 ms instead of 100, which is to its advantage."""

    def __init__(self, directory: str, fsync: str) -> None:
        os.environ["BENCHMARK_HUEY_DIRECTORY"] = directory
        os.environ["BENCHMARK_HUEY_FSYNC"] = fsync
        self._consumer: subprocess.Popen[bytes]
        self._submitted = 0

    def open(self) -> str:
        from benchmarks.contenders import huey_queue

        self._queue: Any = huey_queue
        consumer = (sys.executable, "-m", "huey.bin.huey_consumer", "benchmarks.contenders.huey_queue.queue")
        options = f"--quiet --no-periodic --delay=0.01 --max-delay=0.01 -k thread -w {SLOTS}"
        self._consumer = subprocess.Popen((*consumer, *options.split()))
        (mode,) = self._queue.queue.storage.conn.execute("PRAGMA synchronous").fetchone()
        return f"huey {version('huey')}, SQLite synchronous={_SYNCHRONOUS[mode]}"

    def burst(self, commands: Sequence[Words]) -> list[int]:
        results = [self._submit(words) for words in commands]
        while self._queue.queue.storage.result_store_size() < self._submitted:
            time.sleep(_LOOK)
        return [result.get(preserve=True) for result in results]

    def last_output(self) -> str:
        return Path(self._queue.log_file(self._submitted)).read_text(encoding="utf-8")

    def close(self) -> None:
        self._consumer.terminate()
        self._consumer.wait()

    def _submit(self, words: Words) -> Any:
        self._submitted += 1
        return self._queue.run(self._submitted, list(words))


def make(name: str, directory: str) -> Hueys:
    return Hueys(directory, name.partition("fsync=")[2])
