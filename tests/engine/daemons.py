"""The real daemons of one home, which can be killed at chosen points; none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from errands.bootstrap import start_daemon
from errands.engine.bell_client import BellClient
from errands.engine.daemon.lock import daemon_facts
from errands.engine.engine import Engine
from errands.engine.waiting import wait
from errands.model.view import View
from errands.ports.home import Home
from errands.runners.system import linux
from errands.testing.engines import WITHIN

# A process that kills itself right before or right after it calls a function.
DOOMED = """
import importlib, os, signal, sys
place, when = sys.argv[1:]
owner, _, name = place.rpartition(".")
try:
    owner = importlib.import_module(owner)
except ModuleNotFoundError:
    module, _, kind = owner.rpartition(".")
    owner = getattr(importlib.import_module(module), kind)
act = getattr(owner, name)
def last_act(*values, **options):
    if when == "after":
        act(*values, **options)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(owner, name, last_act)
"""
_DOOMED_DAEMON = (
    DOOMED
    + """
from errands.bootstrap import run_daemon
sys.exit(run_daemon())
"""
)


class Daemons:
    def __init__(self, home: Home) -> None:
        self.home = home
        self._doomed: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Return the pid of the running daemon."""
        facts = daemon_facts(self.home)
        assert facts is not None, "no daemon runs"
        return int(facts["pid"])

    def start(self) -> int:
        start_daemon(self.home)
        return self.pid

    def start_doomed(self, place: str, when: str = "before") -> None:
        """Start a daemon that dies right before, or right after, it calls the function of that name."""
        os.makedirs(self.home.path, mode=0o700, exist_ok=True)
        with open(self.home.log, "ab") as log:
            self._doomed = subprocess.Popen(
                [sys.executable, "-c", _DOOMED_DAEMON, place, when],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        bell = BellClient(self.home.bell)
        eventually(lambda: bell.is_answered() or self._is_over)
        bell.close()

    def wait_for_doom(self) -> None:
        """Wait until the doomed daemon has died where it should."""
        assert self._doomed is not None
        assert self._doomed.wait(WITHIN) == -signal.SIGKILL, "it did not die where it should have"
        self._doomed = None

    def kill(self) -> None:
        """Kill the running daemon with SIGKILL."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def end(self) -> None:
        """Kill everything that was started in this home, and nothing else."""
        if self._doomed is not None:
            self._doomed.kill()
            self._doomed.wait()
        # Until none is left: one of them may just have started another daemon.
        while found := [pid for pid in linux.marked("ERRANDS_HOME", self.home.path) if pid != os.getpid()]:
            for pid in found:
                end(pid)

    @property
    def _is_over(self) -> bool:
        return self._doomed is not None and self._doomed.poll() is not None


def end(pid: int) -> None:
    """Kill a process, and reap it if it is our child."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def eventually(condition: object) -> None:
    """Wait until a condition is true."""
    assert callable(condition)
    deadline = time.monotonic() + WITHIN
    while not condition():
        assert time.monotonic() < deadline, f"it did not come true within {WITHIN:g} s"
        time.sleep(0.005)


def finished(client: Engine, task_id: str) -> View:
    """Wait for the end of a task from a process that runs no loops."""
    assert wait(client, [task_id], timeout=WITHIN) == [], client.get(task_id)
    return client.get(task_id)


def lines(path: object) -> list[str]:
    """Return the lines that tasks wrote to a file; none if it does not exist yet."""
    try:
        with open(str(path)) as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []
