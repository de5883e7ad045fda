"""Contenders: programs that run a burst of commands as fast as they can, each in the way its users would.

All of them have the same number of slots, give every command a session and a log file of its own, and have
finished when the submitter knows every exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from benchmarks.cases import Words

SLOTS = 5  # the default width of the lane `shell`
# The module of each contender; a process imports only one of them, so that none pays for another.
NAMES = {
    "errands": "ours",
    "errands full": "ours",
    "posix_spawn loop": "spawn_loop",
    "task-spooler": "spooler",
    "huey": "huey_consumer",
    "huey fsync=False": "huey_consumer",
    "huey fsync=True": "huey_consumer",
}


class Contender(Protocol):
    def open(self) -> str:
        """Get ready; return what exactly is measured."""

    def burst(self, commands: Sequence[Words]) -> list[int]:
        """Run the commands; return their exit codes."""

    def last_output(self) -> str:
        """Return what the last command submitted has printed, as its log has it."""

    def close(self) -> None: ...


def contender(name: str, directory: str) -> Contender:
    """Make the contender of that name, with all its files in a directory."""
    module = __import__(f"{__name__}.{NAMES[name]}", fromlist=["make"])
    made: Contender = module.make(name, directory)
    return made
