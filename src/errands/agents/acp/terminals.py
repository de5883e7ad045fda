"""Terminals: the commands that we run for an agent.

They are children of the run's own process, so they end with the run.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from contextlib import suppress
from itertools import count

from acp import RequestError

_LOOK = 0.05
_LONG = 5.0
_OUTPUT = 2**20  # bytes of output that are kept by default


class Terminal:
    def __init__(self, process: Process, limit: int) -> None:
        self._process = process
        self._limit = limit
        self._output = b""
        self.truncated = False
        self._reader = asyncio.create_task(self._read())

    @property
    def output(self) -> str:
        return self._output.decode("utf-8", "ignore")

    @property
    def exit(self) -> tuple[int | None, str | None] | None:
        """The exit code or the signal's name, once it has ended."""
        code = self._process.returncode
        if code is None or not self._reader.done():
            return None
        return (code, None) if code >= 0 else (None, signal.Signals(-code).name)

    async def wait(self) -> tuple[int | None, str | None]:
        await asyncio.shield(self._reader)
        assert self.exit is not None
        return self.exit

    async def kill(self) -> None:
        """End the command and its children; its output can still be read."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await exit_code(self._process, within=_LONG)
        await asyncio.wait((self._reader,), timeout=_LONG)

    async def release(self) -> None:
        await self.kill()
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader
        close_pipes(self._process)

    async def _read(self) -> None:
        """Keep the newest output until the command exits; descendants may hold the pipe for longer."""
        assert self._process.stdout is not None
        piece = asyncio.ensure_future(self._process.stdout.read(2**16))
        while True:
            await asyncio.wait((piece,), timeout=_LOOK)
            if not piece.done():
                if self._process.returncode is not None:
                    piece.cancel()
                    return
            elif piece.result():
                self._keep(piece.result())
                piece = asyncio.ensure_future(self._process.stdout.read(2**16))
            else:
                while await exit_code(self._process, within=_LONG) is None:
                    pass
                return

    def _keep(self, piece: bytes) -> None:
        self._output += piece
        if len(self._output) > self._limit:
            self._output = self._output[len(self._output) - self._limit :]
            self.truncated = True


class Terminals:
    def __init__(self) -> None:
        self._open: dict[str, Terminal] = {}
        self._numbers = count(1)

    async def create(self, line: str, *, cwd: str, limit: int | None) -> str:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", line, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, cwd=cwd, process_group=0
        )
        name = f"terminal-{next(self._numbers)}"
        self._open[name] = Terminal(process, _OUTPUT if limit is None else limit)
        return name

    def get(self, name: str) -> Terminal:
        try:
            return self._open[name]
        except KeyError:
            raise RequestError.resource_not_found(name) from None

    async def release(self, name: str) -> None:
        await self.get(name).release()
        del self._open[name]

    async def close(self) -> None:
        for name in list(self._open):
            await self.release(name)


async def exit_code(process: Process, *, within: float) -> int | None:
    """Wait for the exit of the process itself; None when it takes longer.

    `process.wait()` would also wait for its pipes, which descendants may hold open.
    """
    clock = asyncio.get_running_loop()
    deadline = clock.time() + within
    while process.returncode is None and clock.time() < deadline:
        await asyncio.sleep(0.02)
    return process.returncode


def close_pipes(process: Process) -> None:
    process._transport.close()  # type: ignore[attr-defined]  # asyncio has no public way
    # What was not read is never flushed if a descendant holds the pipe.
    if process.stdin is not None and process.stdin.transport.get_write_buffer_size():
        process.stdin.transport.abort()
