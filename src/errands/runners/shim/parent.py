"""What a run needs from its shim, the parent of its processes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import select
    from typing import Protocol

    from errands.runners.shim.read_only import ReadOnly
    from errands.runners.system.system import System

    # The file actions of `os.posix_spawn`.
    FileActions = list[tuple[int, int, int] | tuple[int, int, str, int, int]]

    class Parent(Protocol):
        system: System
        boot: str
        pid: int
        poll: select.poll
        base: dict[str, str]
        is_alone: bool
        groups: list[int]

        def spawn(self, path: str, argv: list[str], env: dict[str, str], actions: FileActions) -> int: ...
        def read_only(self, run_directory: str) -> ReadOnly | None: ...
        def turn(self, timeout: float | None) -> None: ...
        def living(self, *, most: int = 1 << 22) -> list[int]: ...
        def reap(self) -> None: ...
        def report(self, message: tuple[object, ...]) -> None: ...
