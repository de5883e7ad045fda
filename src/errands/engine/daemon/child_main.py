"""A process beside the daemon: it is at work until there is nothing left to do, or the daemon hangs up.

The sender runs the notifier in it, the listener the sources of events.
"""

from __future__ import annotations

import asyncio
import signal
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Work(Protocol):
        """`ring` says that there may be more to do; `run` returns when there has been nothing for a while."""

        def ring(self) -> None: ...
        async def run(self) -> None: ...
        async def close(self) -> None: ...


async def serve(work: Work, line: socket.socket) -> None:
    """Work until nothing is left for a while, the daemon hangs up, or we are told to end."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    line.setblocking(False)

    def hear() -> None:
        try:
            said = line.recv(4096)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            said = b""
        if said:
            work.ring()
        else:
            loop.remove_reader(line)
            stopped.set()

    loop.add_reader(line, hear)
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stopped.set)
    running = loop.create_task(work.run())
    waiting = loop.create_task(stopped.wait())
    await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    for each_task in (running, waiting):
        each_task.cancel()
    await work.close()
    if running.done() and not running.cancelled():
        running.result()
