"""The queue that huey's consumer and its client share; the environment says where it is and how it writes."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from huey import SqliteHuey

_FSYNC: dict[str, dict[str, bool]] = {"": {}, "True": {"fsync": True}, "False": {"fsync": False}}
_directory = os.environ["BENCHMARK_HUEY_DIRECTORY"]

queue: Any = SqliteHuey(filename=f"{_directory}/huey.db", **_FSYNC[os.environ["BENCHMARK_HUEY_FSYNC"]])


def log_file(number: int) -> str:
    return f"{_directory}/{number}.log"


def _run(number: int, words: list[str]) -> int:
    with open(log_file(number), "ab") as log:
        return subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, check=False
        ).returncode


run: Any = queue.task()(_run)
