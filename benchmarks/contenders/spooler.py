"""task-spooler: submitted by its client, because there is no other way."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cases import Words
from benchmarks.contenders import SLOTS

MISSING = "task-spooler is not installed (Debian, Ubuntu: apt-get install task-spooler)"


class Spooler:
    def __init__(self, directory: str) -> None:
        self._tsp = program() or ""
        self._submitted = 0
        self.environ = {
            **os.environ,
            "TS_SOCKET": f"{directory}/socket",
            "TMPDIR": directory,
            "TS_SLOTS": str(SLOTS),
            "TS_MAXFINISHED": "100000",
            "TS_MAXCONN": "4000",
        }

    def open(self) -> str:
        if not self._tsp:
            raise SystemExit(MISSING)
        self.ask("-S", str(SLOTS))
        return self.ask("-V").partition(" - ")[0]

    def burst(self, commands: Sequence[Words]) -> list[int]:
        first = self._submitted
        for words in commands:
            self._submit(words)
        self.ask("-w")
        while len(codes := self._codes()) < self._submitted:
            time.sleep(0.002)
        return codes[first:]

    def last_output(self) -> str:
        return Path(self.ask("-o", str(self._submitted - 1)).strip()).read_text(encoding="utf-8")

    def close(self) -> None:
        self.ask("-K")

    def ask(self, *words: str) -> str:
        found = subprocess.run(
            (self._tsp, *words), env=self.environ, capture_output=True, text=True, check=False
        )
        return found.stdout

    def _submit(self, words: Words) -> None:
        self._submitted += 1
        nothing = (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)
        pid = os.posix_spawn(self._tsp, ["tsp", *words], self.environ, file_actions=[nothing])
        os.waitpid(pid, 0)

    def _codes(self) -> list[int]:
        """Read the exit codes out of the list: number, state, output file, exit code, times, command."""
        rows = [line.split() for line in self.ask("-l").splitlines()[1:]]
        return [int(row[3]) for row in rows if len(row) > 3 and row[1] == "finished"]


def program() -> str | None:
    """Return its program: Debian calls it tsp, others ts."""
    return shutil.which("tsp") or shutil.which("ts")


def make(name: str, directory: str) -> Spooler:
    return Spooler(directory)
