"""A watched command: started under a shim of its own, with its output read here.

The listener needs neither a log nor a record of it, so there is no run directory.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import sys
from typing import Any

from errands.model.errors import SourceError
from errands.model.text.sanitise import visible
from errands.ports.source import CommandOutput
from errands.runners.shim import watch_shim
from errands.runners.shim.wire import frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import WatchedCommand

PRINTED = 16_000  # characters of a command's output that a source sees; its digest is of all of it
_CHUNK = 1 << 16
_ENDED_WITHIN = 10.0  # seconds that a shim may take to end all processes of its command


async def run_watched(command: WatchedCommand, *, timeout: float) -> CommandOutput:
    """Run a command to its end; end it, with all that it started, when the time is up."""
    shim = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", watch_shim.__file__,
        cwd="/", env={}, start_new_session=True,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert shim.stdin is not None
    try:
        async with asyncio.timeout(timeout):
            message = {
                "argv": list(command.argv),
                "cwd": command.cwd,
                "env": dict(command.env),
                "scratch": command.scratch,
            }
            shim.stdin.write(frame(message))
            return await _printed(shim)
    except TimeoutError:
        raise SourceError(f"the command took longer than {timeout:g} s and was ended") from None
    finally:
        await _end(shim)


async def _printed(shim: asyncio.subprocess.Process) -> CommandOutput:
    assert shim.stdout is not None
    assert shim.stderr is not None
    digest_of_all = hashlib.blake2b(digest_size=16)
    kept = b""
    while piece := await shim.stdout.read(_CHUNK):
        digest_of_all.update(piece)
        kept = (kept + piece)[-4 * PRINTED :]
    if error := await shim.stderr.read():
        raise SourceError(f"the command cannot be run: {visible(error)[-PRINTED:]}")
    code = await shim.wait()
    return CommandOutput(code=code, output=visible(kept)[-PRINTED:], digest=digest_of_all.hexdigest())


async def _end(shim: asyncio.subprocess.Process) -> None:
    """Hang up: the shim ends everything that the command has started. It cannot do so if it was stopped."""
    assert shim.stdin is not None
    shim.stdin.close()
    try:
        async with asyncio.timeout(_ENDED_WITHIN):
            await shim.wait()
    except TimeoutError:
        os.killpg(shim.pid, signal.SIGKILL)
    # Without a shim to end it, a detached process may hold the pipe open; do not wait for it.
    transport: Any = getattr(shim, "_transport", None)
    if transport is not None:
        transport.close()
    await shim.wait()
