"""Scratch: the directory with everything a run creates, kept until its end, apart from the user's settings.

Nothing is removed before that: ext4 is slow to hand out inodes where many have just been freed, so the
contender that comes after a removal would pay for it. For the same reason it lies where files are
created fastest: for minutes after a test run an inode under /tmp can take 0.7 ms instead of 0.02 ms, as
much as a whole task. A user has a configuration file, so there is one here.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CONFIG = """\
[runs]
timeout = "2h"
output_cap = "10MB"

[lanes]
build = 2

[approval]
allow = ["npm test", "cargo build"]
"""


@contextmanager
def scratch() -> Iterator[None]:
    """Put temporary files into one directory, with a configuration file instead of the user's settings."""
    for name in list(os.environ):
        # Without compiled files every start of the command line would compile the package again.
        if name.startswith("ERRANDS_") or name == "PYTHONDONTWRITEBYTECODE":
            del os.environ[name]
    with tempfile.TemporaryDirectory(
        prefix="errands-bench-", dir=_fastest_place(), ignore_cleanup_errors=True
    ) as directory:
        tempfile.tempdir = directory
        os.environ["XDG_CONFIG_HOME"] = directory
        config = Path(directory, "errands", "config.toml")
        config.parent.mkdir()
        config.write_text(_CONFIG, encoding="utf-8")
        yield
        tempfile.tempdir = None


def _fastest_place() -> str:
    """Return the directory where files are created fastest; TMPDIR decides if it is set."""
    if os.environ.get("TMPDIR"):
        return tempfile.gettempdir()
    return min((tempfile.gettempdir(), "/var/tmp", os.getcwd()), key=_cost_of_files)


def _cost_of_files(place: str) -> float:
    if not os.access(place, os.W_OK):
        return float("inf")
    with tempfile.TemporaryDirectory(prefix="errands-bench-", dir=place) as directory:
        began = time.perf_counter()
        for number in range(200):
            os.mkdir(f"{directory}/{number}")
        return time.perf_counter() - began
