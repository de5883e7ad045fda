"""A gate: a pipe in the file system that a command waits for, until a test opens it.

It orders two processes without a sleep. `cat NAME` in the command's directory waits, and prints what the test
writes.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

WITHIN = 180.0  # seconds, on a busy machine


class Gate:
    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)

    def opens(self, words: str = "") -> None:
        """Wait until a command waits here; then let it go on, and print the words."""
        self._write(words, deadline=time.monotonic() + WITHIN)

    def lets_through(self) -> bool:
        """Let a command go on if one waits here; return whether one did."""
        try:
            self._write("", deadline=0)
        except TimeoutError:
            return False
        return True

    def leaves(self) -> None:
        """Let a command go on that still waits, if there is one."""
        self.lets_through()
        self.path.unlink()

    def _write(self, words: str, *, deadline: float) -> None:
        while True:
            try:
                pipe = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError as error:
                if error.errno != errno.ENXIO or time.monotonic() > deadline:
                    raise TimeoutError(f"no command waits for {self.path}") from error
                time.sleep(0.02)
        try:
            os.write(pipe, words.encode())
        finally:
            os.close(pipe)
