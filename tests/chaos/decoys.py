"""Decoys: foreign processes that the engine must never signal, and a check that it has not."""

from __future__ import annotations

import signal

from tests.chaos.processes import send_signal, wait_until
from tests.chaos.subject import Subject
from tests.chaos.violation import Violation

LAST_PID = "/proc/sys/kernel/ns_last_pid"
TRIES = 5


class Decoys:
    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._pids: dict[int, str] = {}

    def start(self, **look: str) -> int:
        """Start a decoy; `look` sets variables that the engine's own processes have."""
        path = f"{self._subject.base}/decoy.{len(self._pids)}"
        pid = self._subject.spawn("-m", "tests.chaos.decoy", path, log="decoy.log", **look)
        self._pids[pid] = path
        return pid

    def start_as(self, pid: int) -> bool:
        """Start a decoy with a given pid; return False when the system gives that pid to another process."""
        for _ in range(TRIES):
            with open(LAST_PID, "w") as file:
                file.write(str(pid - 1))
            if self.start() == pid:
                return True
        return False

    def violations(self) -> list[Violation]:
        """Ask every decoy which signals it has received; ours must be the only one."""
        return [each for pid, path in self._pids.items() for each in self._asked(pid, path)]

    def _asked(self, pid: int, path: str) -> list[Violation]:
        send_signal(pid, signal.SIGUSR2)
        wait_until(lambda: self._subject.is_over(pid), within=30)
        try:
            with open(path) as file:
                said = file.read().split()
        except FileNotFoundError:
            said = []
        end = self._subject.codes.get(pid)
        if end == 0 and said == [str(int(signal.SIGUSR2))]:
            return []
        return [Violation("I10", f"decoy {pid} got a signal: it says {said}, its end is {end}")]


def can_reuse_pids() -> bool:
    """Return whether this machine lets us choose the pid of the next process."""
    try:
        with open(LAST_PID, "r+"):
            return True
    except OSError:
        return False
