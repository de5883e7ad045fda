"""A real PostgreSQL server of the tests' own, in a temporary directory and on a socket there.

It needs no rights and nothing that runs on the system. Started by root, it runs as another user, because
PostgreSQL refuses root. It dies with the process of the tests.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import pytest

# Durability costs time, so only the tests that crash a server ask for it.
QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
# A server that stops waits for those who connect at that moment and say nothing: not for a whole minute.
SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "32MB",
    "log_line_prefix": "%m [%p] %u@%d ",
    "authentication_timeout": "5s",
}
LIMIT = 60.0  # seconds for a server to start or to stop, on a machine that is busy with other tests

Stop = Literal["smart", "fast", "crash"]
_SIGNALS: dict[Stop, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "crash": signal.SIGQUIT,
}


def binaries() -> Path | None:
    """Return the folder of the newest PostgreSQL that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: int(each.parts[-3]))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


class Server:
    """One PostgreSQL server; `folder` has its data, its socket and its log."""

    def __init__(
        self, *, settings: dict[str, str] | None = None, host: str = "", on: Sequence[str] = ()
    ) -> None:
        """`host` is an address to listen on besides the socket; `on` are words that start a command there."""
        where = binaries()
        assert where is not None
        self._bin = where
        self._as = _user()
        self.folder = Path(tempfile.mkdtemp(prefix="errands-pg-", dir="/tmp"))
        self.host = host or str(self.folder)
        self._on = tuple(on)
        self.port = _free_port(host) if host and not on else 5432
        self._settings = SETTINGS | QUICK | (settings or {})
        self._settings |= {"listen_addresses": host, "port": str(self.port)}
        self._settings |= {"unix_socket_directories": str(self.folder)}
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        subprocess.run(["cp", "-a", _new_data(where), self.data], check=True, cwd=self.folder, **self._as)
        if host:
            with open(self.data / "pg_hba.conf", "a") as rules:
                rules.write("host all all all trust\n")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def url(self, database: str, *, user: str = "postgres") -> str:
        """Return the address of a database: over the network if the server listens there."""
        if self.host.startswith("/"):
            return f"postgresql://{user}@/{database}?host={self.host}&port={self.port}"
        return f"postgresql://{user}@{self.host}:{self.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        assert self._process is None, "it runs already"
        command = [str(self._bin / "postgres"), "-D", str(self.data), *_options(self._settings)]
        if shutil.which("setpriv"):
            command = ["setpriv", "--pdeathsig", "INT", *command]
        user = self._as
        if self._on:  # only root gets there, and becomes the other user only then
            who = ["--reuid", str(user["user"]), "--regid", str(user["group"]), "--clear-groups"]
            command, user = [*self._on, "setpriv", *who, *command], {}
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, **user
            )
        limit = time.monotonic() + LIMIT
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > limit:
                raise AssertionError(f"PostgreSQL does not start:\n{self.log[-2000:]}")
            time.sleep(0.02)

    def stop(self, how: Stop = "fast") -> None:
        """Stop the server: when its clients have left, at once, or as in a crash, with no checkpoint."""
        if self._process is None:
            return
        process, self._process = self._process, None
        assert process.poll() is None, f"PostgreSQL ended by itself:\n{self.log[-2000:]}"
        process.send_signal(_SIGNALS[how])
        try:
            process.wait(LIMIT)
        finally:
            process.kill()

    def restart(self, how: Stop = "fast") -> None:
        self.stop(how)
        self.start()

    def fork_history(self) -> None:
        """Restart as a server that was promoted: the same data on a new timeline."""
        self.stop()
        self._promote(self.data)
        self.start()

    def back_up(self) -> None:
        """Copy the data as it is now, for `fail_over`, and promote the copy, which takes a while."""
        shutil.rmtree(self._copy, ignore_errors=True)
        self._run(
            "pg_basebackup",
            "-D",
            self._copy,
            "-h",
            self.folder,
            "-U",
            "postgres",
            "-X",
            "stream",
            "-c",
            "fast",
        )
        self._promote(self._copy)

    def fail_over(self) -> float:
        """Crash, and go on from the last copy, as when a standby that lagged behind is promoted.

        Return for how many seconds no server answered.
        """
        began, old = time.monotonic(), self.folder / "old"
        self.stop("crash")
        os.rename(self.data, old)
        os.rename(self._copy, self.data)
        self.start()
        away = time.monotonic() - began
        shutil.rmtree(old)
        return away

    @property
    def _copy(self) -> Path:
        return self.folder / "copy"

    def _promote(self, data: Path) -> None:
        """Begin a new timeline in the data of a server that does not run."""
        marker = data / "recovery.signal"
        marker.touch()
        if self._as:
            os.chown(marker, self._as["user"], self._as["group"])
        options = _options(self._settings | {"restore_command": "false"})
        self._run("postgres", "--single", "-D", data, *options, "postgres")

    def execute(self, sql: str, *, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements as the superuser, over the socket, and return the rows of the last one."""
        import psycopg

        local = f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"
        with psycopg.connect(local, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []

    def create_database(self) -> str:
        """Create an empty database, and return its name."""
        name = f"fleet{next(self._numbers)}"
        self.execute(f"create database {name}")
        return name

    def drop_database(self, name: str) -> None:
        self.execute(f"drop database if exists {name} with (force)")

    def remove(self) -> None:
        """Stop the server and delete everything it has."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        import psycopg

        with suppress(psycopg.OperationalError):
            self.execute("select 1")
            return True
        return False

    def _run(self, program: str, *words: str | Path) -> None:
        done = subprocess.run(
            [str(self._bin / program), *map(str, words)],
            cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, **self._as,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode(errors="replace")


def _options(settings: dict[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


@functools.cache
def _new_data(where: Path) -> Path:
    """Make the data of a server that was never started: that takes a second, and copying it does not."""
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="errands-pg-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if user:
        os.chown(folder, user["user"], user["group"])
    words = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
    made = subprocess.run(
        [where / "initdb", "-D", folder / "data", *words], cwd=folder, capture_output=True, **user
    )
    assert made.returncode == 0, made.stderr.decode(errors="replace")
    return folder / "data"


def _free_port(host: str) -> int:
    with socket.socket() as tried:
        tried.bind((host, 0))
        return int(tried.getsockname()[1])


def _user() -> dict[str, Any]:
    """Return whom root starts the server as: the user that its package makes, or one that owns nothing."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            found = pwd.getpwnam(name)
            return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise AssertionError("root cannot run PostgreSQL, and there is no user postgres or nobody")


@contextmanager
def running(*, settings: dict[str, str] | None = None, host: str = "") -> Iterator[Server]:
    """Run a server of one's own, for what would disturb other tests: restarts, outages, other settings."""
    if binaries() is None:
        pytest.skip("there is no PostgreSQL: tools/apt postgresql installs it")
    server = Server(settings=settings, host=host)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server that all tests of a process share; they never stop it."""
    with running() as server:
        yield server


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The address of an empty database."""
    name = postgres.create_database()
    yield postgres.url(name)
    postgres.drop_database(name)
