"""The sender: the process that runs the notifier for as long as there is something to send."""

from __future__ import annotations

import asyncio
import signal
import socket

from errands.engine.notifier import Notifier


async def send(notifier: Notifier, line: socket.socket) -> None:
    """Send until nothing is left for a while, the daemon hangs up, or we are told to end."""
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
            notifier.ring()
        else:
            loop.remove_reader(line)
            stopped.set()

    loop.add_reader(line, hear)
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stopped.set)
    running = loop.create_task(notifier.run())
    waiting = loop.create_task(stopped.wait())
    await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    for each_task in (running, waiting):
        each_task.cancel()
    await notifier.close()
    if running.done() and not running.cancelled():
        running.result()
