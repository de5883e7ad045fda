"""Escapes: what is tried inside a sandbox changes and reaches nothing outside, for root and other users."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.walls.test_sandbox import walled

HERE = Path(__file__).parent
USERS = [pytest.param(0, id="root"), pytest.param(65534, id="user")] if os.geteuid() == 0 else [os.geteuid()]


@pytest.fixture
def outside() -> Iterator[Path]:
    """A directory that is not in a place that is private to a sandbox anyway."""
    place = Path(tempfile.mkdtemp(dir="/var/tmp" if not os.access("/srv", os.W_OK) else "/srv"))
    place.chmod(0o777)
    (place / "victim").write_text("untouched")
    (place / "secret").write_text("secret")
    yield place
    shutil.rmtree(place)


@walled
@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the system has no Python of its own")
@pytest.mark.spec("A13")
@pytest.mark.parametrize("user", USERS)
def test_no_attempt_to_escape_succeeds(outside: Path, user: int) -> None:
    project, home, run = outside / "project", outside / "home", outside / "run"
    for each in (
        project,
        home,
        run,
        home / "e",
        home / ".local" / "bin",
        outside / "other",
        outside / "runs",
    ):
        each.mkdir(parents=True)
    for each in (
        home / "e" / "errands.db",
        home / ".bashrc",
        outside / "other" / "README",
        outside / "runs" / "x",
    ):
        each.write_text("not for others")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".claude").mkdir()
    (project / "errands.toml").write_text("")
    code = project / "tests" / "engine" / "walls"
    code.mkdir(parents=True)
    for name in ("escapes.py", "escape_attempts.py"):
        shutil.copy(HERE / name, code)
    before = (project / ".git" / "config").read_text()
    if os.geteuid() == 0:
        for each in (project, *project.rglob("*"), home, *home.rglob("*"), run):
            os.chown(each, user, user, follow_symlinks=False)
    victim = subprocess.Popen(["sleep", "600"])
    server, datagrams, service, hidden = (
        socket.create_server(("127.0.0.1", 0)),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        socket.socket(socket.AF_UNIX),
        socket.socket(socket.AF_UNIX),
    )
    datagrams.bind(("127.0.0.1", 0))
    service.bind(f"{outside}/service")
    hidden.bind(f"\0errands-{os.getpid()}")
    for each_socket in (server, service, hidden):
        if each_socket is not server:
            each_socket.listen()
        each_socket.setblocking(False)
    datagrams.setblocking(False)
    try:
        words = [str(outside), str(server.getsockname()[1]), str(datagrams.getsockname()[1])]
        command = ["/usr/bin/python3", "-m", "tests.engine.walls.escapes"]
        words += [f"{outside}/service", f"errands-{os.getpid()}", str(victim.pid)]
        tried = subprocess.run(
            [sys.executable, HERE / "as_user.py", str(user), home, project, run, *command, *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=str(HERE.parents[2]),
        )

        assert tried.stdout.splitlines()[:-1] == [], tried.stderr
        assert tried.stdout.splitlines()[-1] == "tried 249", tried.stderr
        for each_socket in (server, service, hidden):
            with pytest.raises(BlockingIOError):
                each_socket.accept()
        with pytest.raises(BlockingIOError):
            datagrams.recv(1)
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()
        for each_socket in (server, datagrams, service, hidden):
            each_socket.close()
    assert (outside / "victim").read_text() == "untouched"
    assert (project / ".git" / "config").read_text() == before
    assert not list((home / ".local" / "bin").iterdir())
    assert sorted(each.name for each in outside.iterdir()) == [
        "home", "other", "project", "run", "runs", "secret", "service", "victim",
    ]  # fmt: skip
