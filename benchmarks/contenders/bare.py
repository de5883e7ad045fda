"""The bare loop: posix_spawn and wait, nothing else. Nobody is faster, and nobody remembers less."""

from __future__ import annotations

import os
import shutil

from benchmarks.contenders import SLOTS


class Bare:
    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._started = 0
        self._true = shutil.which("true") or "/bin/true"

    def open(self) -> str:
        return "posix_spawn with setsid and a log file, exit codes in memory only"

    def burst(self, count: int) -> list[int]:
        codes: list[int] = []
        left, running = count, 0
        while left or running:
            if left and running < SLOTS:
                self._spawn()
                left, running = left - 1, running + 1
                continue
            codes.append(os.waitstatus_to_exitcode(os.wait()[1]))
            running -= 1
        return codes

    def close(self) -> None:
        """Nothing is left to close."""

    def _spawn(self) -> None:
        self._started += 1
        log = f"{self._directory}/{self._started}.log"
        os.posix_spawn(
            self._true,
            ["true"],
            os.environ,
            setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
        )


def make(name: str, directory: str) -> Bare:
    return Bare(directory)
