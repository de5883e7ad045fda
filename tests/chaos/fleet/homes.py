"""A home of the fleet: its daemon, its host process and its tasks run in a network namespace of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from errands import bootstrap, config
from errands.engine.daemon.lock import daemon_facts
from errands.engine.engine import Engine
from errands.ports.home import Home
from tests.chaos.fleet.clocks import HOOK
from tests.chaos.fleet.network import Network
from tests.chaos.subject import ROOT

SLOTS = 3
LABEL = "any"
SETTINGS = '[schedules]\nbackoff = "1s"\n'


class ChaosHome:
    def __init__(
        self, base: Path, name: str, network: Network, url: str, *, slots: int = SLOTS, clock: bool = False
    ) -> None:
        self.name = name
        self._slots = slots
        self._network = network
        self._folder = base / name
        self._folder.mkdir()
        self.home = Home(path=str(self._folder / "home"))
        self.environ = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self._folder),
            "PYTHONPATH": os.pathsep.join((*((str(HOOK),) if clock else ()), str(ROOT), f"{ROOT}/src")),
            "CHAOS_CLOCK": str(self._folder / "clock"),
            "ERRANDS_HOME": self.home.path,
            "XDG_CONFIG_HOME": str(self._folder / "config"),
            "FLEET_URL": url,
        }
        settings = self._folder / "config" / "errands" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS)
        self._logged = (self._folder / "output").open("ab")

    def join(self) -> None:
        self._run(
            "host",
            "join",
            "env:FLEET_URL",
            "--name",
            self.name,
            "--label",
            LABEL,
            "--slots",
            str(self._slots),
        )

    def engine(self) -> Engine:
        """Return an engine over the home; it needs no network, because it only reads and writes files."""
        return bootstrap.open_engine(self.home, config.load(cwd="/", environ=self.environ), consent="yes")

    def start(self) -> None:
        """Start the daemon if it does not run."""
        self._run("daemon", "start")

    def strike(self, number: signal.Signals, *, daemon: bool = False, host: bool = False) -> None:
        """Send a signal to the daemon, to the host process, or to both; to the whole home if to neither."""
        found = self.processes()
        if daemon or host:
            wanted = {"daemon": daemon, "host": host}
            found = {pid: what for pid, what in found.items() if wanted.get(what, False)}
        # All stand still before the first one dies: otherwise the rest could still act on that.
        if number == signal.SIGKILL:
            _send(found, signal.SIGSTOP)
        _send(found, number)

    def processes(self) -> dict[int, str]:
        """Return every process of the home, shims and commands included: daemon, host, or other."""
        facts = daemon_facts(self.home)
        found = {}
        for pid in self._network.pids(self.name):
            is_host = b"run_host" in _read(pid, "cmdline")
            is_daemon = facts is not None and pid == int(facts["pid"])
            found[pid] = "daemon" if is_daemon else "host" if is_host else "other"
        return found

    def step_clock(self, seconds: float) -> None:
        """Let the wall clock of every process of this home be ahead by so much."""
        clock = self._folder / "clock"
        clock.with_suffix(".new").write_text(str(seconds))
        clock.with_suffix(".new").rename(clock)

    def close(self) -> None:
        self.strike(signal.SIGKILL)
        self._logged.close()

    @property
    def log(self) -> str:
        """What daemon and host process logged."""
        try:
            return Path(self.home.log).read_text(errors="replace")
        except OSError:
            return ""

    def _run(self, *words: str) -> None:
        subprocess.run(
            [*self._network.on(self.name), sys.executable, "-m", "errands", *words],
            env=self.environ,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=self._logged,
            stderr=self._logged,
            check=False,
        )


def _send(pids: dict[int, str], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
