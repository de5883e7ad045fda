"""The machine a run was made on, in one line: figures without it mean little."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
import tempfile


def machine() -> str:
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return (
        f"{os.cpu_count()} processors ({_processor()}), {platform.system()} {platform.release()}, "
        f"{_file_system(tempfile.gettempdir())} under {tempfile.gettempdir()}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, load at the start {load}"
    )


def commands(words: list[str]) -> str:
    """Return the command line of the run."""
    return " ".join((os.path.relpath(sys.executable), "-m", "benchmarks", *words))


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next(
            (line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown"
        )


def _file_system(path: str) -> str:
    """Return the type of the file system of a path, by the longest mount point above it."""
    best, kind = "", "unknown"
    with open("/proc/mounts", encoding="utf-8") as file:
        for _, point, found, *_ in map(str.split, file):
            above = path == point or path.startswith(point.rstrip("/") + "/")
            if above and len(point) >= len(best):
                best, kind = point, found
    return kind
