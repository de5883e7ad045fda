"""Without a terminal: a line of input is a message or a command, one after the other, and output is plain."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

from errands.frontends.chat.chat_session import ChatSession


async def talk(room: ChatSession, source: int = 0) -> None:
    """Read lines to their end; each is answered before the next one, unless a person must say yes first.

    What needs a yes can be answered by a line that follows; if none does, it waits in the background.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def interrupt() -> None:
        if not room.interrupt():
            lines.put_nowait(None)

    loop.add_signal_handler(signal.SIGINT, interrupt)

    def read() -> None:
        # By itself, because a file cannot be waited for, and not through a buffer, which has a lock.
        held = b""
        while piece := _read(source):
            *whole, held = (held + piece).split(b"\n")
            for each in whole:
                loop.call_soon_threadsafe(lines.put_nowait, each.decode("utf-8", "replace"))
        if held:
            loop.call_soon_threadsafe(lines.put_nowait, held.decode("utf-8", "replace"))
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    try:
        await room.answered()
        while not room.is_over and (line := await lines.get()) is not None:
            room.enter(line)
            await room.answered()
    finally:
        room.messages.look()
        room.leave()


def _read(source: int) -> bytes:
    try:
        return os.read(source, 65536)
    except OSError:
        return b""
