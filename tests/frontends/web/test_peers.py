"""The process at the other end of a connection: a run, a person's browser, or the proxy of another user."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from errands.engine.actor import is_inside_a_run
from errands.frontends.web.callers import is_local

pytestmark = pytest.mark.spec("X8")

# Modules are imported first: the other user may not be able to read them.
LOOK = """
import ipaddress, os, sys
from errands.engine.actor import is_inside_a_run
port, user = int(sys.argv[1]), int(sys.argv[2])
if user:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
print(is_inside_a_run("127.0.0.1", port), is_inside_a_run("127.0.0.1", port, is_proxy=True))
"""
# A process that has changed its user hides what it has open from all other processes of that user.
CONNECT = """
import os, socket, sys
port, user = int(sys.argv[1]), int(sys.argv[2])
if user:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
line = socket.socket()
line.connect(("127.0.0.1", port))
print(line.getsockname()[1], flush=True)
sys.stdin.read()
"""
ANOTHER = 1000 if os.getuid() == 0 else 0  # only root can be another user; 0: stay who you are


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def seen(port: int, user: int) -> list[str]:
    """Return whether a user takes the owner of a connection for a run, and for one if it may be a proxy."""
    command = [sys.executable, "-c", LOOK, str(port), str(user)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_process_outside_of_all_runs_is_not_inside(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()) as line:
        assert not is_inside_a_run(*line.getsockname())
        assert not is_inside_a_run(*line.getsockname(), is_proxy=True)


def test_a_connection_that_is_not_there_may_be_that_of_a_run() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    assert is_inside_a_run("127.0.0.1", port)
    assert is_inside_a_run("127.0.0.1", port, is_proxy=True)


def test_only_as_a_proxy_may_the_process_of_another_user_be_unknown(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()) as line:
        found = seen(line.getsockname()[1], ANOTHER)
    assert found == (["True", "False"] if ANOTHER else ["False", "False"])


def test_a_process_of_the_same_user_that_hides_is_taken_for_a_run(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    words = [sys.executable, "-c", CONNECT, str(port), str(ANOTHER)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as hiding:
        assert hiding.stdout is not None
        found = seen(int(hiding.stdout.readline()), ANOTHER)
        hiding.communicate()
    assert found == (["True", "True"] if ANOTHER else ["False", "False"])


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("192.0.2.1", False), ("not-an-address", True)],
)
def test_addresses_of_this_machine_are_known(host: str, local: bool) -> None:
    assert is_local(host) is local
