"""The OpenCode that a process of ours serves."""

from __future__ import annotations

from errands.model.record import record


@record
class Program:
    """`wakes` if a report can reach its sessions after their turn; `opencode run` exits with it."""

    pid: int = 0
    program: str = ""
    socket: str | None = None  # of its bridge
    wakes: bool = False


def owner_of(session: str) -> str:
    return f"opencode:{session}"
