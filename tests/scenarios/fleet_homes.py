"""Homes of a fleet on this machine: each with a daemon and a host process of its own, over one PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from errands.bootstrap import open_fleet
from errands.engine.daemon.lock import daemon_facts
from errands.ports.home import Home
from errands.runners.system import linux
from tests.frontends.cli.commands import run
from tests.postgres import Server

PATIENCE = 90.0
CAREFUL = (
    '[approval]\nmode = "careful"\n'  # what is not harmless is asked about, whatever sandboxes there are
)
SOON = '[schedules]\nbackoff = "1s"\n'  # a retry does not wait for a minute


def eventually(condition: Callable[[], object], what: str) -> None:
    """Wait until something is true, however busy the machine is."""
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, f"waited {PATIENCE:g} s in vain for {what}"
        time.sleep(0.05)


def is_running(text: str) -> bool:
    """Return whether a process has this text in its command line."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in words and b"pytest" not in words and linux.is_alive(int(pid)):
            return True
    return False


class FleetHome:
    """One home; `name` is what the fleet calls it."""

    def __init__(self, folder: Path, name: str, url: str) -> None:
        self.name = name
        self.folder = folder / name
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.folder.mkdir()
        self.home = Home(path=str(self.folder / "home"))
        self.config = self.folder / "config" / "errands" / "config.toml"
        self.config.parent.mkdir(parents=True)
        self.config.write_text(CAREFUL + SOON)
        self._url = url
        kept = {key: value for key, value in os.environ.items() if not key.startswith("ERRANDS")}
        self.environ = kept | {
            "ERRANDS_HOME": self.home.path,
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "HOME": str(folder),
            "FLEET_URL": url,
        }

    def join(self, *words: str) -> None:
        done = self.run("host", "join", "env:FLEET_URL", "--name", self.name, *words)
        assert done.returncode == 0, done.stderr

    def run(self, *words: str, within: float = PATIENCE) -> subprocess.CompletedProcess[str]:
        """Run a command of this home."""
        done = run(words, given=b"", cwd=self.work, environ=self.environ, within=within)
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "errands", *words]

    def say(self, *words: str) -> str:
        """Run a command that must succeed, and return what it printed."""
        done = self.run(*words)
        assert done.returncode == 0, (
            f"errands {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done.stdout

    def submit(self, host: str, line: str, *options: str) -> str:
        """Start a line on another host, and return the id of its task."""
        printed = self.say("run", "--quiet", "--yes", "--host", host, *options, "--", "sh", "-c", line)
        return printed.strip().splitlines()[-1]

    def view(self, task: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.say("show", task, "--json"))
        return found

    def until(self, task: str, state: str) -> dict[str, Any]:
        """Wait until a task is in a state, and return it."""
        eventually(lambda: self.view(task)["state"] == state, f"{task} to be {state}: {self.view(task)}")
        return self.view(task)

    def wait(self, task: str) -> int:
        """Wait for the end of a task; return the exit code of `errands wait`."""
        return self.run("wait", task).returncode

    def notices(self) -> list[dict[str, Any]]:
        """Take the notices of this home."""
        return [json.loads(line) for line in self.say("notices", "--json").splitlines()]

    @property
    def daemon(self) -> int | None:
        facts = daemon_facts(self.home)
        return None if facts is None else int(facts["pid"])

    @property
    def host_process(self) -> int | None:
        """The pid of the host process: the child of the daemon that runs it."""
        if self.daemon is None:
            return None
        for pid in linux.descendants(self.daemon):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"run_host" in words:
                return pid
        return None

    def kill_host_process(self) -> None:
        eventually(lambda: self.host_process, "a host process")
        pid = self.host_process
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    def kill_daemon(self) -> None:
        """Kill the daemon alone; its children end by themselves."""
        pid = self.daemon
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: self.daemon is None, "the end of the daemon")

    def kill_all(self) -> None:
        """Kill daemon and host process at once, as if the machine were gone for everybody else."""
        pids = [pid for pid in (self.daemon, self.host_process) if pid is not None]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: self.daemon is None, "the end of the daemon")

    def start(self) -> None:
        self.say("daemon", "start")

    def stop(self) -> None:
        if self.daemon is not None:
            self.say("daemon", "stop")

    @property
    def log(self) -> str:
        try:
            return Path(self.home.log).read_text()
        except OSError:
            return ""


async def _create_tables(url: str) -> None:
    fleet = open_fleet(url)
    await fleet.open()
    await fleet.close()


class TestFleet:
    """Several homes over one database."""

    __test__ = False

    def __init__(self, folder: Path, server: Server) -> None:
        self.server = server
        self.database = server.create_database()
        self.url = server.url(self.database)
        self.folder = folder
        self.homes: list[FleetHome] = []

    def add(self, name: str, *words: str) -> FleetHome:
        home = FleetHome(self.folder, name, self.url)
        self.homes.append(home)
        home.join(*words)
        eventually(lambda: self._state(name) == "up", f"{name} to be up")
        return home

    def _state(self, name: str) -> str:
        found = self.execute(f"select state from fleet.hosts where name = '{name}'")
        return str(found[0][0]) if found else ""

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        return self.server.execute(sql, database=self.database)

    def hurry(self, *, lease: float, slack: float = 1.0) -> None:
        """Let hosts be given up sooner; call it before they join."""
        asyncio.run(_create_tables(self.url))
        self.execute(
            f"update fleet.clock set lease = '{lease} s', renewal = '{lease / 6} s', slack = '{slack} s',"
            " quiet = '1 s', steady = '1 s'"
        )

    def close(self) -> None:
        for home in self.homes:
            home.stop()
        for home in self.homes:
            eventually(lambda home=home: home.daemon is None, "the end of a daemon")  # type: ignore[misc]
        self.server.drop_database(self.database)
