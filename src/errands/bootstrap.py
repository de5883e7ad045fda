"""Bootstrap: wires the parts; the only module that knows them all.

Heavy modules are imported where they are used, because every CLI command imports this one.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime

from errands import config as configuration
from errands.engine.bell_client import BellClient
from errands.engine.engine import Engine
from errands.model.errors import BadValue, DaemonError, missing_extra
from errands.ports.home import Home
from errands.stores.sqlite.connection import Connection
from errands.stores.sqlite.store import SqliteStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence
    from typing import Any

    from errands.config import Config
    from errands.engine.daemon.loops import Loops
    from errands.frontends.install.installation import ClientInstallation, ServiceInstallation
    from errands.model.agent.candidate import Candidate
    from errands.model.approval import Consent
    from errands.model.notices.notice import Address
    from errands.ports.agent import Agent, SoughtSession
    from errands.ports.fleet import Fleet
    from errands.ports.output import OutputPort
    from errands.stores.sqlite.repair import Repaired


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def open_home(path: str | None = None) -> Home:
    return Home(path=os.path.abspath(path or configuration.home(os.environ)))


def open_store(home: Home, config: Config) -> SqliteStore:
    return SqliteStore(Connection(home.store, durability=config.store.durability), home.runs)


def boot_id() -> str:
    from errands.runners.system.system import choose

    return choose().boot_id()


def _output() -> OutputPort:
    from errands.runners.output import log

    return log


def open_engine(
    home: Home | None = None,
    config: Config | None = None,
    *,
    consent: Consent = "none",
    is_client: bool = False,
) -> Engine:
    """Open the engine for this process; with `is_client` it starts the daemon when a verb needs one.

    `consent` applies to everything that is submitted through it.
    """
    home = home or open_home()
    config = config or configuration.load()
    return Engine(
        store=open_store(home, config),
        home=home,
        config=config,
        clock=SystemClock(),
        output=_output,
        bell=BellClient(home.bell),
        consent=consent,
        start_daemon=(lambda: start_daemon(home)) if is_client else None,
        has_session=lambda sought: _has_session(home, config, sought),
    )


def _has_session(home: Home, config: Config, sought: SoughtSession) -> bool:
    from errands.agents import has_session
    from errands.config.backends import settings_of

    return has_session(sought, settings_of(sought.agent, config.backends), home.path)


def open_client(home: Home | None = None, config: Config | None = None) -> Engine:
    """Open the engine for a frontend."""
    return open_engine(home, config, is_client=True)


def make_loops(
    home: Home, config: Config, *, is_after_reboot: bool, kept: Sequence[tuple[str, ...]] = ()
) -> Loops:
    """Wire the loops of the daemon; the process that runs them must have the lock of the home.

    `kept` are functions of `errands.processes`, with their arguments, that run as long as the loops.
    """
    from errands.engine.daemon.loops import Loops
    from errands.runners.pool.router import make_runner

    has_joined = os.path.exists(home.fleet)
    if config.channels:
        from errands.config.channels import bots

        kept = [*(("run_bot", name) for name in bots(config.channels)), *kept]
    return Loops(
        store=open_store(home, config),
        runner=make_runner(home.runs, lambda: _library(config), keep=config.agents.warm, places=has_joined),
        home=home,
        config=config,
        clock=SystemClock(),
        output=_output(),
        kept=[*([("run_host",)] if has_joined else ()), *kept],
        is_after_reboot=is_after_reboot,
    )


def _library(config: Config) -> list[str]:
    from errands.config.backends import library

    return library(config.backends)


def run_daemon(home: Home | None = None) -> int:
    """Run the daemon in this process."""
    import gc

    if "ssl" not in sys.modules:  # asyncio would load OpenSSL, 4 MB that the daemon does not need
        sys.modules["ssl"] = None  # type: ignore[assignment]
        import asyncio  # noqa: F401

        del sys.modules["ssl"]
    from errands.engine.daemon import process_log
    from errands.engine.daemon.daemon import serve

    home = home or open_home()
    process_log.begin()
    # Modules stay loaded, and scanning them for garbage again and again took 11 % of the processor time of
    # a task: 2,551 instead of 2,302 us.
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)

    def begin(config: Config, rebooted: bool) -> Loops:
        kept = [("run_exporter",)] if _begin_export(home, config) else []
        _arrange_discovery(home, config)
        return make_loops(home, config, is_after_reboot=rebooted, kept=kept)

    return serve(home, lambda: configuration.load(cwd="/"), boot_id(), begin)


def run_agent(run_id: str) -> int:
    """Run the process of an agent's run."""
    import asyncio
    import io

    from errands.agents import make
    from errands.config.backends import settings_of
    from errands.engine.agents.agent_main import answer, fail
    from errands.frontends.tools.conversation_tools import ConversationTools

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    home = open_home()
    try:
        engine = open_client(home)
    except BadValue as error:  # the configuration of the directory it works in
        engine = open_engine(home, configuration.Config())
        return fail(engine, run_id, error)

    def made(name: str) -> Agent:
        return make(name, settings_of(name, engine.config.backends), home.path)

    try:
        return asyncio.run(answer(engine, run_id, made, offer=ConversationTools))
    finally:
        engine.close()


def channel_trouble(name: str, config: Config) -> str:
    from errands.channels import trouble

    return trouble(name, config.channels.get(name, {}))


def source_trouble(name: str) -> str:
    from errands.sources import trouble

    return trouble(name)


def send_trial(address: Address, config: Config) -> None:
    from errands import channels

    channels.send_trial(address, config.channels.get(address.channel, {}))


def run_chat(engine: Engine, **options: Any) -> int:
    """Run a chat with an agent; `options` are those of `frontends.chat`."""
    from errands.frontends.chat.chat import run

    return run(engine, **options)


def run_top(engine: Engine, **options: Any) -> int:
    """Show all tasks in full screen; `options` are those of `frontends.top`."""
    from errands.frontends.top.start import run

    return run(engine, open_fleet=open_fleet, **options)


def run_web(home: Home, config: Config, **options: Any) -> int:
    """Serve the web page, or sign browsers in and out; `options` are those of `frontends.web`."""
    from errands.frontends.web.start import run

    def mcp(*given: Any) -> Any:
        from errands.frontends.mcp.serve import endpoint

        return endpoint(open_client, *given)

    options |= {"open_client": open_client, "channel_trouble": channel_trouble, "send_trial": send_trial}
    return run(home, config, mcp=mcp, open_fleet=open_fleet, **options)


def run_discord(home: Home, config: Config, name: str, line: socket.socket | None = None) -> int:
    """Run the bot of a channel until a signal arrives or the other end of `line` closes."""
    try:
        from errands.frontends.discord.bot import serve
    except ModuleNotFoundError as error:
        raise missing_extra("the bot", "discord", error) from error
    from errands.channels import read_secret

    settings = config.channels[name]
    engine = open_client(home, config)
    try:
        return serve(engine, name, settings, token=lambda: read_secret(str(settings["token"])), line=line)
    finally:
        engine.close()


def agent_readiness(name: str, config: Config) -> str:
    """Return why an agent could start; raise an error that says why not."""
    from errands.agents.readiness import ready
    from errands.config.backends import settings_of

    return ready(name, settings_of(name, config.backends))


def agent_candidates(environ: Mapping[str, str]) -> list[Candidate]:
    """List the agents that could be set up on this machine."""
    from errands.agents.candidates import candidates

    return candidates(environ)


def open_fleet(address: str) -> Fleet:
    """Return the fleet in the database at an address; nothing connects before it is opened."""
    from errands.hosts import open_fleet

    return open_fleet(address)


def start_daemon(home: Home) -> None:
    """Start the daemon in the background and wait until it answers; raise an error if it does not."""
    from errands.engine.daemon.start import start

    start(home)


def store_damage(home: Home) -> list[str]:
    """Return what is wrong with the store, as a whole and record by record."""
    from errands.stores.sqlite.repair import damage

    found = damage(home.store)
    if found:
        return found
    store = open_store(home, configuration.Config())
    try:
        return [f"the record of task {each} cannot be read" for each in store.damaged()]
    finally:
        store.close()


def platform() -> tuple[str, tuple[str, ...], str]:
    """Return how processes are supervised here, what that cannot guarantee, and why there are no walls."""
    from errands.runners.system.system import choose

    system = choose()
    return system.NAME, system.WEAKNESSES, system.missing_walls()


def unattended(home: Home) -> list[str]:
    """Return what would keep the daemon from running after a reboot or a logout."""
    from errands.frontends.install.service import complaints, service_for

    try:
        return list(complaints(service_for(home.path)))
    except BadValue as error:
        return [str(error)]


def repair_store(home: Home) -> Repaired:
    """Set a damaged store aside and keep every readable record; only while no daemon runs."""
    from errands.engine.daemon.lock import DaemonLock
    from errands.stores.sqlite.repair import repair

    lock = DaemonLock(home)
    if not lock.take("daemon", {}):
        raise DaemonError("the store is in use; `errands daemon stop` first, then repair it")
    try:
        return repair(home.store, datetime.now(UTC).strftime("%Y%m%d-%H%M%S"))
    finally:
        lock.release()


def serve_mcp(
    dialect: str,
    *,
    http: str | None = None,
    everything: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Serve the tools of a dialect to clients of the Model Context Protocol."""
    try:
        from errands.frontends.mcp.serve import serve
    except ModuleNotFoundError as error:
        raise missing_extra("`errands mcp`", "mcp", error) from error
    return serve(dialect, http=http, everything=everything, open_engine=open_client, environ=environ)


def serve_opencode(home: Home, environ: Mapping[str, str]) -> int:
    """Serve the plugin of the OpenCode that started this process."""
    from errands.frontends.opencode.serve import serve

    return serve(lambda: open_client(home), environ)


def installation(
    client: str,
    *,
    environ: Mapping[str, str],
    project: str | None,
    dialect: str | None,
    trust: bool | None = None,
) -> ClientInstallation:
    """Return what installs Errands into a client, and removes it again."""
    from errands.frontends.install.installation import ClientInstallation

    return ClientInstallation(client, environ=environ, project=project, dialect=dialect, trust=trust)


def service(home: Home, *, environ: Mapping[str, str], web: bool = False) -> ServiceInstallation:
    """Return what installs the daemon, or the web server, as a system service, and removes it again."""
    from errands.frontends.install.installation import ServiceInstallation

    return ServiceInstallation(home.path, environ=environ, web=web)


def _arrange_discovery(home: Home, config: Config) -> None:
    """Create or end the discovery task, as configured."""
    engine = open_engine(home, config)
    try:
        if config.discovery.enabled or engine.store.id_by_key("discovery") is not None:
            from errands.engine.agents.discovery import arrange_or_log

            arrange_or_log(engine)
    finally:
        engine.close()


def _begin_export(home: Home, config: Config) -> bool:
    """Start exporting the spans of runs that end from now on, if the environment says where to."""
    from errands.telemetry import settings

    if not settings.is_on(os.environ):
        return False
    from errands.telemetry import cursor

    engine = open_engine(home, config)
    try:
        return cursor.begin_or_log(home.spans, engine.tracing, os.environ)
    finally:
        engine.close()
