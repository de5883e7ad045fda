"""The system: what supervision needs from the operating system, and the choice of the implementation."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from errands.runners.system.landlock import Walls

    class System(Protocol):
        NAME: str
        WEAKNESSES: tuple[str, ...]
        CLOCK_STEP: float
        INHERITS_ORPHANS: bool

        def prepare_subreaper(self) -> None:
            """Load what `become_subreaper` needs, once, before any fork."""

        def become_subreaper(self) -> None:
            """Let this process inherit the orphans of all its descendants, if the system supports that."""

        def walls(self) -> Walls:
            """Return what keeps commands from writing and connecting, unless `missing_walls` says why not."""

        def missing_walls(self) -> str:
            """Return why a command cannot be kept from writing and connecting here; empty if it can."""

        def boot_id(self) -> str:
            """Return the id of this boot of the machine; processes of an earlier boot are gone."""

        def clock(self) -> float:
            """Return the time of the clock that `start_time` uses."""

        def start_time(self, pid: int) -> float | None:
            """Return when a process started, to within CLOCK_STEP; None if it does not exist."""

        def is_alive(self, pid: int) -> bool:
            """Return whether a process exists and is not a zombie."""

        def activity(self, pid: int) -> str:
            """Return `stopped` (by a signal, or gone), `blocked` (waiting in the kernel) or `active`."""

        def children(self, pid: int) -> list[int]:
            """List the children of a process, zombies included."""

        def descendants(self, root: int, *, groups: Iterable[int] = (), most: int = 1 << 22) -> list[int]:
            """List all below a process or a member of `groups`, parents first, zombies included."""

        def marked(self, variable: str, value: str) -> list[int]:
            """List the processes that were started with this variable in their environment."""

        def session(self, leader: int) -> list[int]:
            """List the processes in the session of a command."""

        def ancestors(self, pid: int) -> list[int]:
            """List the parent of a process, the grandparent, and so on."""

        def usage(self, pids: Iterable[int]) -> tuple[int, float]:
            """Sum resident memory (bytes) and CPU time (seconds)."""

        def memory(self, pids: Iterable[int]) -> int:
            """Sum memory in bytes, counting shared memory once; slow, and 0 if that is unknown."""

        def widen(self, pipe: int, size: int) -> bool:
            """Enlarge the buffer of a pipe; return whether the system allowed it."""

        def watch(self, pid: int) -> int | None:
            """Return a descriptor that is readable once the process is gone; None if that is impossible."""

        def signal_shim(self, watched: int | None, pid: int, number: int) -> None:
            """Send a signal to the process that `watch` opened."""


def choose() -> System:
    """Return the Linux implementation on Linux, unless `ERRANDS_PLATFORM=posix` forces the plain one."""
    if sys.platform == "linux" and os.environ.get("ERRANDS_PLATFORM") != "posix":
        from errands.runners.system import linux

        return linux
    from errands.runners.system import posix

    return posix
