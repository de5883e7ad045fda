"""Contenders: those who run a burst of commands as fast as they can, each in the way its users would.

All have the same number of slots, give every command a session and a log file of its own, and are done when
whoever submitted the commands knows every exit code.
"""

from __future__ import annotations

from typing import Protocol

SLOTS = 5  # as many as the lane `shell` has by itself
# In which module each is found; only one is imported by a process, so that none pays for another.
NAMES = {
    "errands": "ours",
    "errands full": "ours",
    "posix_spawn loop": "bare",
    "task-spooler": "spooler",
    "huey": "hueys",
    "huey fsync=False": "hueys",
    "huey fsync=True": "hueys",
}


class Contender(Protocol):
    def open(self) -> str:
        """Get ready; say what exactly is measured."""

    def burst(self, count: int) -> list[int]:
        """Run /bin/true so many times; give the exit codes."""

    def close(self) -> None: ...


def contender(name: str, directory: str) -> Contender:
    """Make the contender of that name, with all its files in a directory."""
    module = __import__(f"{__name__}.{NAMES[name]}", fromlist=["make"])
    made: Contender = module.make(name, directory)
    return made
