"""The daemon: the process that runs the loops, one per home."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from typing import Any

from errands.config import Config
from errands.engine.daemon.lock import DaemonLock
from errands.engine.daemon.loops import Loops
from errands.model.errors import ErrandsError
from errands.ports.home import Home, make_home

_LOG = logging.getLogger("errands.daemon")


def serve(home: Home, config: Config, boot: str, make_loops: Callable[[bool], Loops]) -> int:
    """Run the daemon in this process until a signal stops it; return 0 also if another one runs already."""
    make_home(home.path)
    lock = DaemonLock(home)
    if not lock.take("daemon", config.lanes, boot=boot):
        _LOG.info("another daemon runs in %s; nothing to do", home.path)
        return 0
    try:
        return asyncio.run(_serve(lambda: make_loops(lock.is_after_reboot)))
    except ErrandsError as error:
        _LOG.error("%s", error)
        return error.exit_code
    finally:
        lock.release()


async def _serve(make_loops: Callable[[], Loops]) -> int:
    loops = make_loops()
    stopped = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    await loops.open()
    _LOG.info("daemon %d is ready", os.getpid())
    assert loops.failure is not None
    waiting = asyncio.create_task(stopped.wait())
    try:
        ways: list[asyncio.Future[Any]] = [waiting, loops.failure]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        if loops.failure.done():
            loops.failure.result()
        return 0
    finally:
        waiting.cancel()
        await loops.close()
        _LOG.info("daemon %d stops; runs go on", os.getpid())
