"""The daemon: the process that runs the loops, one per home.

When a configuration file changes, the loops end and begin again with the new configuration. Runs do not
notice: they are found again as after a crash, which is what makes this safe.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from errands.config import Config, account_file, user_file
from errands.engine.daemon.lock import DaemonLock
from errands.engine.daemon.loops import Loops
from errands.model.errors import ErrandsError
from errands.ports.home import Home

LOOK = 2.0  # seconds between two checks of the configuration files
_LOG = logging.getLogger("errands.daemon")


class Watched:
    """The configuration, and what its files looked like when it was read."""

    def __init__(self, load: Callable[[], Config]) -> None:
        self._load = load
        self._paths = [path for path in dict.fromkeys((user_file(), account_file())) if path]
        self._seen = self._stamp()
        self.config = load()

    async def change(self) -> None:
        """Return when the configuration has changed; one that cannot be used is reported and left out."""
        while True:
            await asyncio.sleep(LOOK)
            now = self._stamp()
            if now == self._seen:
                continue
            self._seen = now
            try:
                self.config = self._load()
            except ErrandsError as error:
                _LOG.warning("the changed configuration cannot be used; the old one stays: %s", error)
            else:
                return

    def _stamp(self) -> list[tuple[int, int, int] | None]:
        return [_identity(path) for path in self._paths]


def _identity(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def serve(
    home: Home, load: Callable[[], Config], boot: str, make_loops: Callable[[Config, bool], Loops]
) -> int:
    """Run the daemon in this process until a signal stops it; return 0 also if another one runs already."""
    os.makedirs(home.path, mode=0o700, exist_ok=True)
    watched = Watched(load)
    lock = DaemonLock(home)
    if not lock.take("daemon", watched.config.lanes, boot=boot):
        _LOG.info("another daemon runs in %s; nothing to do", home.path)
        return 0
    is_after_reboot = lock.is_after_reboot
    if is_after_reboot:
        # The clock of the fuse has started anew, and what waits here may be on another host by now.
        with suppress(FileNotFoundError):
            os.unlink(home.fuse)
    try:
        while asyncio.run(_serve(make_loops, watched, is_after_reboot)):
            _LOG.info("the configuration has changed; the new one is in effect")
            is_after_reboot = False
            lock.write("daemon", watched.config.lanes, boot=boot)
        return 0
    except ErrandsError as error:
        _LOG.error("%s", error)
        return error.exit_code
    finally:
        lock.release()


async def _serve(
    make_loops: Callable[[Config, bool], Loops], watched: Watched, is_after_reboot: bool
) -> bool:
    """Run the loops until a signal or a failure ends them; return True if the configuration has changed."""
    loops = make_loops(watched.config, is_after_reboot)
    stopped = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    await loops.open()
    _LOG.info("daemon %d is ready", os.getpid())
    assert loops.failure is not None
    waiting, changing = asyncio.create_task(stopped.wait()), asyncio.create_task(watched.change())
    try:
        ways: list[asyncio.Future[Any]] = [waiting, changing, loops.failure]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        if loops.failure.done():
            loops.failure.result()
        has_changed = changing.done()
    finally:
        waiting.cancel()
        changing.cancel()
        await loops.close()
        _LOG.info("daemon %d stops; runs continue", os.getpid())
    return has_changed and not stopped.is_set()  # a signal can also come while the loops close
