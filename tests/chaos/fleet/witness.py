"""The witness: when commands ran by their own account, and when their processes were seen to die."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

LOOK = 0.05  # seconds between two looks at the living
TICK = 0.01  # seconds: how exactly commands know when they start and end
WAKES = 2.0  # seconds in which what stood still is ended, on a busy machine


@dataclass
class Life:
    """One execution of a command; times are the machine's uptime. Without `code` it was killed.

    Its `end` is what it said itself. Of one that was killed it is when it was found dead, which is late on a
    busy machine: only until it was last `seen` is it certain that it was alive.
    """

    token: str
    pid: int
    start: float
    code: int | None = None
    end: float | None = None
    seen: float = 0.0
    awake: float | None = None  # when it was last seen to go on after it stood still

    def ran_after(self, moment: float) -> bool:
        """Return whether it went on after a moment.

        A machine that stood still as a whole wakes with its runs: their shims end them as the first thing.
        """
        if self.end is None:
            return True
        until = self.seen if self.code is None else self.end
        return until > (moment if self.awake is None else max(moment, self.awake + WAKES)) + TICK


class Witness:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.lives: list[Life] = []
        path.touch()
        self._read = 0
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="witness", daemon=True)
        self._watcher.start()

    def close(self) -> None:
        self._over.set()
        self._watcher.join()
        self._look()

    def living(self) -> list[Life]:
        return [life for life in self.lives if life.end is None]

    def _watch(self) -> None:
        while not self._over.wait(LOOK):
            self._look()

    def _look(self) -> None:
        with open(self.path, "rb") as file:
            file.seek(self._read)
            lines = file.read().splitlines(keepends=True)
        for line in lines:
            if not line.endswith(b"\n"):
                break
            self._read += len(line)
            self._note(*line.decode().split())
        for life in self.living():
            now = uptime()
            state = _state(life)
            if state in "ZX":
                life.end = uptime()
            else:
                life.seen = now
            if state == "T":
                life.awake = now

    def _note(self, word: str, token: str, pid: str, now: str, code: str) -> None:
        if word == "start":
            self.lives.append(Life(token=token, pid=int(pid), start=float(now)))
            return
        for life in reversed(self.lives):
            if life.token == token and life.pid == int(pid):
                life.code, life.end = int(code), float(now)
                return


def uptime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _state(life: Life) -> str:
    """Return the state of its process as the kernel names it; X if there is none."""
    try:
        words = Path(f"/proc/{life.pid}/cmdline").read_bytes()
        state = Path(f"/proc/{life.pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return "X"
    return state if life.token.encode() in words.split(b"\0") else "X"
