"""A command of this virtual environment, started cold and timed from outside."""

from __future__ import annotations

import os
import sys
import time


def command(line: str) -> list[str]:
    """Split a line whose program is in the same directory as this Python."""
    program, *words = line.split()
    return [os.path.join(os.path.dirname(sys.executable), program), *words]


def seconds(words: list[str], *, home: str | None = None) -> float:
    """Run a command to its end, discarding its output; a failure is an error, never a sample."""
    environ = dict(os.environ) if home is None else {**os.environ, "ERRANDS_HOME": home}
    nothing = (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)
    began = time.perf_counter()
    pid = os.posix_spawn(words[0], words, environ, file_actions=[nothing])
    _, ending = os.waitpid(pid, 0)
    taken = time.perf_counter() - began
    if ending:
        raise RuntimeError(f"{' '.join(words)} failed with {os.waitstatus_to_exitcode(ending)}")
    return taken
