"""A planned task: what one task will do, and what must therefore be reported about it.

A task gets its steps as arguments; `task.sh` carries them out in order and writes to the witness file when it
starts and how it ends. Everything else about it follows from the steps.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

TASK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "task.sh")
BLOB_SIZE = 300_000
FLOOD_SIZE = 30_000_000
CLEAN = "sleep 303"  # how the harness recognises a child without any mark


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """`dies_at` names the point at which the run's own shim kills itself, where the daemon's shims can."""

    token: str
    steps: tuple[str, ...]
    lane: str = "wide"
    priority: str = "normal"
    owner: str = "ann"
    notify: str = "always"
    after: tuple[str, ...] = ()
    key: str | None = None
    cap: int = 1 << 20
    timeout: float | None = None
    grace: float = 0.5
    delay: float = 0.0
    dies_at: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        return ("/bin/sh", TASK, self.token, *self.steps)

    @property
    def result(self) -> int:
        """How it ends if it is not disturbed: an exit code, or minus the number of a signal."""
        word, _, number = self.steps[-1].partition(":")
        return -int(number) if word == "signal" else int(number)

    @property
    def is_clean(self) -> bool:
        """Return whether it has a child without any mark, which only a living shim can find."""
        return "clean" in self.steps

    def output(self, blob: bytes) -> bytes:
        """Everything it prints when it is not disturbed."""
        text = b""
        for step in self.steps:
            word, _, number = step.partition(":")
            if word == "lines":
                text += b"".join(b"%s %d\n" % (self.token.encode(), line + 1) for line in range(int(number)))
            elif word == "flood":
                line = self.token.encode() + b"\n"
                text += (line * (int(number) // len(line) + 1))[: int(number)]
            elif word == "blob":
                text += blob[: int(number)]
            elif word == "mute":
                break
        return text
