"""The queue that huey's consumer and its client share; the environment says where it is and how it writes."""

from __future__ import annotations

import itertools
import os
import subprocess
from typing import Any

from huey import SqliteHuey

_FSYNC: dict[str, dict[str, bool]] = {"": {}, "True": {"fsync": True}, "False": {"fsync": False}}
_directory = os.environ["BENCHMARK_HUEY_DIRECTORY"]
_numbers = itertools.count()

queue: Any = SqliteHuey(filename=f"{_directory}/huey.db", **_FSYNC[os.environ["BENCHMARK_HUEY_FSYNC"]])


def _run_true() -> int:
    with open(f"{_directory}/{next(_numbers)}.log", "ab") as log:
        return subprocess.run(
            ("true",), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, check=False
        ).returncode


run_true: Any = queue.task()(_run_true)
