"""The processes beside the daemon: the sender, which delivers notices, the listener, which hears of events,
and the bot on Discord.

Bootstrap's other half: these need channels, sources and whatever those need, which the daemon never loads.
"""

from __future__ import annotations

import os
import socket
import sys

from errands import config as configuration
from errands.bootstrap import SystemClock, open_client, open_engine, open_home
from errands.model.errors import BadValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from errands.config import Config
    from errands.model.notices.notice import Address
    from errands.ports.agent import Agent
    from errands.ports.home import Home

_LOG_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_SENDER = "import sys; from errands.processes import run_sender; sys.exit(run_sender())"
_LISTENER = "import sys; from errands.processes import run_listener; sys.exit(run_listener())"
_EXPORTER = "import sys; from errands.processes import run_exporter; sys.exit(run_exporter(int(sys.argv[1])))"
_BOT = "import sys; from errands.processes import run_kept_discord; sys.exit(run_kept_discord(sys.argv[1]))"


def start_sender(home: Home, line: socket.socket) -> int:
    """Start the sender, with a line to the daemon as its standard input."""
    return _start(home, line, _SENDER)


def start_bot(home: Home, line: socket.socket, name: str) -> int:
    """Start the bot of a channel, likewise."""
    return _start(home, line, _BOT, name)


def bots(home: Home, config: Config) -> list[Callable[[socket.socket], int]]:
    """Name the bots that the configuration wants to be kept running, by how each is started."""
    from errands.config.channels import kind_of

    return [
        lambda line, name=name: start_bot(home, line, name)  # type: ignore[misc]
        for name, settings in config.channels.items()
        if kind_of(name, config.channels) == "discord" and settings.get("listen")
    ]


def _start(home: Home, line: socket.socket, *words: str) -> int:
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-c", *words],
        {**os.environ, "ERRANDS_HOME": home.path},
        file_actions=[(os.POSIX_SPAWN_DUP2, line.fileno(), 0)],
    )


def start_listener(home: Home, line: socket.socket) -> int:
    """Start the listener, likewise."""
    return _start(home, line, _LISTENER)


def run_sender() -> int:
    """Be the process that delivers notices, one at a time; its standard input is the line to the daemon."""
    import asyncio
    import fcntl
    import logging

    from errands.channels import make
    from errands.engine.daemon.child_main import serve
    from errands.engine.notices.chat_notices import mask_of
    from errands.engine.notices.notifier import Notifier
    from errands.model.errors import ErrandsError

    logging.basicConfig(level=logging.WARNING, format=_LOG_LINE)
    home = open_home()
    lock = os.open(home.sender, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        engine = open_engine(home, configuration.load(cwd="/"))
    except ErrandsError as error:  # what waits is sent when it is corrected
        logging.getLogger("errands.notifier").error("nothing is sent: %s", error)
        return 1

    def output(run_id: str) -> str:
        try:
            return engine.tail(run_id).content.decode("utf-8", "replace")
        except (ErrandsError, OSError):  # there is none, or it is gone already
            return ""

    async def deliver() -> None:
        notifier = Notifier(
            engine.store,
            lambda name: make(name, configuration.load(cwd="/").channels.get(name, {})),
            SystemClock(),
            edition=_edition,
            mask=lambda task_id: mask_of(engine, task_id),
            output=output,
        )
        await serve(notifier, socket.socket(fileno=0))

    loop = asyncio.new_event_loop()
    loop.run_until_complete(deliver())
    # A thread that still waits for an answer would keep us; what it sent is sent again under the same key.
    os._exit(0)


def _edition() -> tuple[int, ...]:
    """Tell one state of the user's configuration from another."""
    try:
        facts = os.stat(configuration.user_file())
    except OSError:
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def run_listener() -> int:
    """Be the process in which sources live, one at a time; its standard input is the line to the daemon."""
    import asyncio
    import fcntl
    import logging

    from errands.engine.daemon.child_main import serve
    from errands.engine.triggers.listener import Listener
    from errands.sources import make

    logging.basicConfig(level=logging.WARNING, format=_LOG_LINE)
    home = open_home()
    lock = os.open(home.listener, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    engine = open_engine(home, configuration.load(cwd="/"))

    async def listen() -> None:
        await serve(Listener(engine, make), socket.socket(fileno=0))

    loop = asyncio.new_event_loop()
    loop.run_until_complete(listen())
    # A thread that still waits for a change or an answer would keep us.
    os._exit(0)


def channel_trouble(name: str, config: Config) -> str:
    """Say why a channel could not be used, as far as that can be told without sending something."""
    if name == "inbox":
        return ""
    from errands.channels import make
    from errands.model.errors import ErrandsError

    try:
        make(name, config.channels.get(name, {}))
    except ErrandsError as error:
        return str(error)
    return ""


def send_trial(address: Address, config: Config) -> None:
    """Send a message to an address, from this very process; whatever is wrong is raised."""
    import asyncio
    import time
    from datetime import UTC, datetime

    from errands.channels import TRIAL, make
    from errands.model.notices.delivery import delivery_of
    from errands.model.notices.errors import ChannelError
    from errands.model.notices.notice import Notice
    from errands.model.text.json_text import plain_text

    now = datetime.now(UTC)
    body = {"task": "errands", "state": "says hello", "description": "a message sent by errands channel test"}
    notice = Notice(
        id=time.time_ns(),
        run_id="errands.1",
        event=TRIAL,
        address=address,
        body=plain_text(body),
        created_at=now,
    )

    async def deliver() -> None:
        channel = make(address.channel, config.channels.get(address.channel, {}))
        try:
            async with asyncio.timeout(30):
                await channel.deliver(delivery_of([notice]))
        except TimeoutError:
            raise ChannelError("there is no answer within 30 s") from None
        finally:
            await channel.close()

    asyncio.run(deliver())


def run_discord(home: Home, config: Config, name: str, line: socket.socket | None = None) -> int:
    """Be the bot on Discord until told to end, or until whoever holds the other end of `line` is gone."""
    import asyncio
    import logging
    import signal

    from errands.model.errors import BadValue

    try:
        from errands.frontends.discord.bot import Bot, point_at
    except ModuleNotFoundError as error:
        raise BadValue(
            f"the bot needs {error.name}, which is not installed; "
            "install it with: pip install 'errands[discord]'"
        ) from error
    from errands.channels import read_secret

    logging.basicConfig(level=logging.WARNING, format=_LOG_LINE)
    settings = config.channels[name]
    point_at(settings.get("api"))
    engine = open_client(home, config)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, stopped.set)
        if line is not None:
            loop.add_reader(line, stopped.set)
        bot = Bot(
            engine,
            channel=name,
            allowed=[int(each) for each in settings.get("allowed", ())],
            guild=int(settings["guild"]) if "guild" in settings else None,
        )
        running = loop.create_task(bot.start(read_secret(str(settings["token"]))))
        waiting = loop.create_task(stopped.wait())
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await bot.close()
        await running

    try:
        asyncio.run(serve())
    finally:
        engine.close()
    return 0


def run_kept_discord(name: str) -> int:
    """Be the bot that the daemon keeps; standard input is the line to it."""

    return run_discord(open_home(), configuration.load(cwd="/"), name, socket.socket(fileno=0))


def start_exporter(home: Home, config: Config) -> None:
    """Have the spans of what ends from now on handed on, if the environment says to whom."""
    from errands.telemetry import settings

    if not settings.is_on(os.environ):
        return
    import logging

    from errands.telemetry import cursor

    engine = open_engine(home, config)
    try:
        settings.read(os.environ)
        cursor.begin(home.spans, engine.tracing)
    except (BadValue, OSError) as error:
        logging.getLogger("errands.telemetry").error("no spans are handed on: %s", error)
        return
    finally:
        engine.close()
    words = [sys.executable, "-P", "-c", _EXPORTER, str(os.getpid())]
    os.posix_spawn(sys.executable, words, {**os.environ, "ERRANDS_HOME": home.path})


def run_exporter(daemon: int) -> int:
    """Hand spans on for as long as the daemon lives, one process at a time."""
    import fcntl
    import logging

    from errands.telemetry import settings
    from errands.telemetry.exporter import Exporter

    logging.basicConfig(level=logging.INFO, format=_LOG_LINE)
    home = open_home()
    lock = os.open(f"{home.spans}.lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    engine = open_engine(home, configuration.load(cwd="/"))
    exporter = Exporter(engine.tracing, settings.read(os.environ), home.spans)
    exporter.run(is_wanted=lambda: os.getppid() == daemon)
    return 0


def drop_sessions() -> None:
    """Have backends forget the sessions of tasks that were cleared."""
    import asyncio
    import logging

    from errands.agents import make
    from errands.engine.agents.session_cleanup import drop_all

    logging.basicConfig(level=logging.INFO, format=_LOG_LINE)
    home = open_home()
    engine = open_engine(home, configuration.load(cwd="/"))

    def agent(name: str, cwd: str) -> Agent:
        return make(name, configuration.load(cwd=cwd).backends.get(name, {}), home.path)

    try:
        asyncio.run(drop_all(engine, agent))
    finally:
        engine.close()
