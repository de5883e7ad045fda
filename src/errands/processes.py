"""The processes beside the daemon: sender, listener, host process, Discord bot, exporter, session clean-up.

They load channels, sources and their libraries, which the daemon never does. The daemon starts them
(`engine/daemon/child_service.py`) and is connected to their standard input.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket

from errands import config as configuration
from errands.bootstrap import SystemClock, open_engine, open_home
from errands.engine.daemon import process_log
from errands.model.errors import ErrandsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from errands.engine.engine import Engine
    from errands.ports.agent import Agent

    class Work(Protocol):
        """`ring` wakes it: there may be more to do; `run` returns after a while without work."""

        def ring(self) -> None: ...
        async def run(self) -> None: ...
        async def close(self) -> None: ...


def run_sender() -> int:
    """Deliver notices."""
    from errands.channels import make
    from errands.engine.notices.run_result import mask_of, output_of
    from errands.engine.notices.sender import Sender

    home = open_home()
    _be_the_only_one(home.sender)
    try:
        engine = open_engine(home, configuration.load(cwd="/"))
    except ErrandsError as error:  # notices wait until the configuration is corrected
        logging.getLogger("errands.sender").error("nothing is sent: %s", error)
        return 1

    return _work(
        Sender(
            engine.store,
            lambda name: make(name, configuration.load(cwd="/").channels.get(name, {})),
            SystemClock(),
            edition=_edition,
            mask=lambda task_id: mask_of(engine, task_id),
            output=lambda run_id: output_of(engine, run_id),
            announce=engine.bell.announce,
        )
    )


def _edition() -> tuple[int, ...]:
    """Return a value that changes whenever the user's configuration file does."""
    try:
        facts = os.stat(configuration.user_file())
    except OSError:
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def run_listener() -> int:
    """Watch the event sources that tasks wait for."""
    from errands.engine.triggers.listener import Listener
    from errands.runners.watched_command import run_watched
    from errands.sources import make

    home = open_home()
    _be_the_only_one(home.listener)
    return _work(Listener(_engine(), make, run_watched))


def run_bot(name: str) -> int:
    """Run the bot of a Discord channel until the daemon hangs up."""
    from errands.bootstrap import run_discord

    return run_discord(open_home(), configuration.load(cwd="/"), name, socket.socket(fileno=0))


def run_exporter() -> int:
    """Export spans until the daemon hangs up."""
    from errands.telemetry import settings
    from errands.telemetry.exporter import Exporter

    home = open_home()
    _be_the_only_one(f"{home.spans}.lock", level=logging.INFO)
    line = socket.socket(fileno=0)
    line.setblocking(False)

    def is_wanted() -> bool:
        try:
            return bool(line.recv(64))
        except BlockingIOError:
            return True
        except OSError:
            return False

    Exporter(_engine().tracing, settings.read(os.environ), home.spans).run(is_wanted=is_wanted)
    return 0


def run_host() -> int:
    """Keep this host in its fleet until the daemon hangs up."""
    from errands import __version__
    from errands.bootstrap import boot_id, open_fleet
    from errands.engine.fleet.host_process import HostProcess
    from errands.ports.fleet import HostFacts, membership
    from errands.runners.output.log import send_numbered
    from errands.runners.output.mirror import Mirror, exit_facts, has_ended

    home = open_home()
    _be_the_only_one(home.host)
    me = membership.read(home.fleet)
    if me is None:
        return 0  # it has just left
    facts = HostFacts(
        id=me.id, name=me.name, labels=me.labels, slots=me.slots, version=__version__, boot=boot_id()
    )
    fleet = open_fleet(me.address())
    return _work(
        HostProcess(
            _engine(),
            fleet,
            me,
            facts,
            mirrors=Mirror,
            has_ended=has_ended,
            exit_facts=exit_facts,
            send_input=send_numbered,
        )
    )


def drop_sessions() -> None:
    """Make backends delete the sessions of tasks that were cleared."""
    import asyncio

    from errands.agents import make
    from errands.config.backends import settings_of
    from errands.engine.agents.session_cleanup import drop_all

    process_log.begin()
    engine = _engine()

    def agent(name: str, cwd: str) -> Agent:
        return make(name, settings_of(name, configuration.load(cwd=cwd).backends), engine.home.path)

    try:
        asyncio.run(drop_all(engine, agent))
    finally:
        engine.close()


def _engine() -> Engine:
    return open_engine(open_home(), configuration.load(cwd="/"))


def _be_the_only_one(path: str, *, level: int = logging.WARNING) -> None:
    """Wait until the process of an earlier daemon has ended, then keep the lock until this one ends."""
    process_log.begin(level)
    fcntl.flock(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), fcntl.LOCK_EX)


def _work(work: Work) -> int:
    import asyncio

    asyncio.new_event_loop().run_until_complete(_serve(work, socket.socket(fileno=0)))
    # A thread that waits for an answer would delay the exit; its delivery is sent again under the same key.
    os._exit(0)


async def _serve(work: Work, line: socket.socket) -> None:
    """Work until there is nothing to do for a while, the daemon hangs up, or a signal arrives."""
    import asyncio
    import signal

    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    line.setblocking(False)

    def read() -> None:
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

    loop.add_reader(line, read)
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stopped.set)
    running = loop.create_task(work.run())
    waiting = loop.create_task(stopped.wait())
    await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if running.done() and (error := running.exception()) is not None:
        logging.getLogger("errands").error("this process ends, because it failed", exc_info=error)
    for each_task in (running, waiting):
        each_task.cancel()
    await work.close()
    if running.done() and not running.cancelled():
        running.result()
