"""The bare loop: posix_spawn and wait, nothing else. No contender can be faster, and none remembers less."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchmarks.cases import Words
from benchmarks.contenders import SLOTS


class Bare:
    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._started = 0

    def open(self) -> str:
        return "posix_spawn with setsid and a log file, exit codes in memory only"

    def burst(self, commands: Sequence[Words]) -> list[int]:
        codes: list[int] = []
        left, running = list(reversed(commands)), 0
        while left or running:
            if left and running < SLOTS:
                self._spawn(left.pop())
                running += 1
                continue
            codes.append(os.waitstatus_to_exitcode(os.wait()[1]))
            running -= 1
        return codes

    def last_output(self) -> str:
        return Path(self._log).read_text(encoding="utf-8")

    def close(self) -> None:
        """Nothing is left to close."""

    @property
    def _log(self) -> str:
        return f"{self._directory}/{self._started}.log"

    def _spawn(self, words: Words) -> None:
        self._started += 1
        os.posix_spawn(
            _program(words[0]),
            words,
            os.environ,
            setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
        )


@cache
def _program(name: str) -> str:
    return shutil.which(name) or name


def make(name: str, directory: str) -> Bare:
    return Bare(directory)
