"""The end of a process itself. That of asyncio is later: it waits for pipes that descendants may hold."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process

_LOOK = 0.02


async def exit_code(process: Process, *, within: float) -> int | None:
    """Wait for the exit of the process itself; None when it takes longer."""
    clock = asyncio.get_running_loop()
    deadline = clock.time() + within
    while process.returncode is None and clock.time() < deadline:
        await asyncio.sleep(_LOOK)
    return process.returncode


def let_go(process: Process) -> None:
    """Close the pipes of a process that is over."""
    process._transport.close()  # type: ignore[attr-defined]  # there is no public way
