"""A home for one benchmark, with its daemon, in the scratch directory.

Everything this process starts while it is open finds it through the environment.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Mapping
from itertools import pairwise

from benchmarks import processes
from errands import bootstrap
from errands.engine.daemon.lock import daemon_facts
from errands.engine.engine import Engine
from errands.ports.home import Home


class BenchHome:
    """`with BenchHome(lanes_shell="4") as bench:`; the settings are ERRANDS_ variables."""

    def __init__(self, **settings: str) -> None:
        self.directory = tempfile.mkdtemp()
        self.home = Home(path=f"{self.directory}/home")
        self._settings = {f"ERRANDS_{name.upper()}": value for name, value in settings.items()}
        self._before: Mapping[str, str] = {}
        self.daemon = 0

    def __enter__(self) -> BenchHome:
        self._before = dict(os.environ)
        os.environ.update(self._settings, ERRANDS_HOME=self.home.path)
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        os.environ.clear()
        os.environ.update(self._before)
        os.unlink(self.home.store)  # a large one takes a gigabyte; the rest goes with the scratch directory

    def set(self, **settings: str) -> None:
        """Change settings; the daemon reads them when it is restarted."""
        os.environ.update({f"ERRANDS_{name.upper()}": value for name, value in settings.items()})

    def start(self) -> int:
        """Start the daemon, wait until it answers, and return its pid."""
        bootstrap.start_daemon(self.home)
        facts = daemon_facts(self.home)
        assert facts is not None
        self.daemon = int(facts["pid"])
        return self.daemon

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop the daemon, and wait for its end."""
        if self.daemon:
            os.kill(self.daemon, number)
            os.waitpid(self.daemon, 0)
            self.daemon = 0

    def engine(self) -> Engine:
        return bootstrap.open_engine(self.home, consent="yes")

    def supervisors(self) -> list[int]:
        """Return the daemon, its zygote and the shims, without the tasks' own processes."""
        return [pid for pid in processes.tree(self.daemon) if _is_ours(pid)]


def _is_ours(pid: int) -> bool:
    """Return whether a process is a supervisor, by its command line; a shim has its zygote's."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return any(word.endswith(b"/zygote.py") for word in words) or (b"-m", b"errands") in pairwise(words)
